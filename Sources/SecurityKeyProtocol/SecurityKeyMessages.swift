// The conversation of albumfs with albumfs-fido2, over a pair of sockets. Each message is one line of
// ASCII. albumfs writes a request, and the PIN when it is asked for; albumfs-fido2 writes replies. The
// last reply is `failed`, or the line with the secret, which neither side ever holds in a string:
// `SecretLine`.

internal import AlbumModel

/// The first line that albumfs writes: a verb, a blank, and the salt in hexadecimal digits.
package struct SecurityKeyRequest: Equatable, Sendable {
  package enum Verb: String, Sendable {
    /// Returns the secret of albumfs' credential.
    case find
    /// The same, but makes the credential if the key has none.
    case make
  }

  package static let saltByteCount = 32
  /// The longest line, with its line feed.
  package static let maximumByteCount = 80

  package var verb: Verb
  package var salt: [UInt8]

  package init(_ verb: Verb, salt: [UInt8]) {
    precondition(salt.count == SecurityKeyRequest.saltByteCount)
    self.verb = verb
    self.salt = salt
  }

  /// The line, without its line feed.
  package var line: String { "\(verb.rawValue) \(Hexadecimal.text(salt))" }

  /// The twin of `line`; nil if it is no request.
  package init?(line: String) {
    let words = line.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 2, let verb = Verb(rawValue: String(words[0])) else { return nil }
    guard let salt = Hexadecimal.bytes(words[1]), salt.count == SecurityKeyRequest.saltByteCount
    else { return nil }
    self.init(verb, salt: salt)
  }
}

/// A line that albumfs-fido2 writes, except the one with the secret.
package enum SecurityKeyReply: Equatable, Sendable {
  /// Several keys are plugged in: the user touches one of them.
  case choose
  /// albumfs writes the PIN and a line feed. `tries`: how many wrong PINs the key still accepts, if it says.
  case pin(tries: Int?)
  /// The key has no credential of albumfs and gets one.
  case making
  /// The key waits for a touch.
  case touch
  /// The last line. `tries` as above, after a wrong PIN.
  case failed(SecurityKeyFault, tries: Int?)

  /// The line, without its line feed.
  package var line: String {
    switch self {
    case .choose: "choose"
    case .pin(let tries): tries.map { "pin \($0)" } ?? "pin"
    case .making: "making"
    case .touch: "touch"
    case .failed(let fault, let tries):
      "failed \(fault.rawValue)" + (tries.map { " \($0)" } ?? "")
    }
  }

  /// The twin of `line`; nil if it is no reply of this version.
  package init?(line: String) {
    let words = line.split(separator: " ").map(String.init)
    switch (words.first, words.count) {
    case ("choose", 1): self = .choose
    case ("making", 1): self = .making
    case ("touch", 1): self = .touch
    case ("pin", 1): self = .pin(tries: nil)
    case ("pin", 2):
      guard let tries = Int(words[1]) else { return nil }
      self = .pin(tries: tries)
    case ("failed", 2), ("failed", 3):
      guard let fault = SecurityKeyFault(rawValue: words[1]) else { return nil }
      self = .failed(fault, tries: words.count == 3 ? Int(words[2]) : nil)
    default: return nil
    }
  }
}

/// Why a security key gives no secret.
package enum SecurityKeyFault: String, Error, CaseIterable, Sendable {
  /// No key is plugged in, or this user may use none.
  case noKey = "no-key"
  /// A key is there, and does not open.
  case notOpened = "not-opened"
  /// No key supports hmac-secret.
  case noHmacSecret = "no-hmac-secret"
  /// The key has no PIN, and no other way to verify its user.
  case noPin = "no-pin"
  case wrongPin = "wrong-pin"
  /// The PIN has a length that none can have.
  case pinLength = "pin-length"
  /// Too many wrong PINs in a row: the key wants to be plugged in anew.
  case pinPaused = "pin-paused"
  /// Too many wrong PINs: only a reset of the key helps, which erases it.
  case pinBlocked = "pin-blocked"
  /// The key verifies its user by itself, by a fingerprint for instance, and did not recognise them.
  case notVerified = "not-verified"
  /// The key has no credential of albumfs.
  case noCredential = "no-credential"
  /// The key has no room for another credential.
  case full
  /// Nobody touched the key in time.
  case notTouched = "not-touched"
  /// The key, or its user at the key, refused.
  case refused
  /// The key was taken out.
  case gone
  /// The key does not reply.
  case silent
  /// The key replied with something else than FIDO2 says.
  case garbled
}

/// The line with the secret: `secret`, a blank, and 64 hexadecimal digits.
package enum SecretLine {
  package static let secretByteCount = 32
  package static let prefix: StaticString = "secret "
  /// Without the line feed.
  package static let byteCount = 7 + 2 * secretByteCount
}
