import AlbumSecrets
import ControlProtocol
import Glibc
import Posix
import SecurityKeyProtocol

/// Gets a secret from a security key, by albumfs-fido2: that program calls libfido2, and this process, which
/// may hold keys, does not. They talk over a pair of sockets.
enum SecurityKeyInput {
  private static let program = "albumfs-fido2"
  /// In milliseconds. albumfs-fido2 gives up earlier; if it does not, it was stopped.
  private static let patience: CInt = 150_000
  /// The dynamic linker exits with this if it does not find libfido2.
  private static let notLinked: Int32 = 127
  /// From this number on, the prompt says how many wrong PINs the key still accepts.
  private static let fewTries = 3

  /// Returns the 64 hexadecimal digits of the secret. Asks for the PIN and for a touch.
  static func secret(
    _ verb: SecurityKeyRequest.Verb, salt: [UInt8]
  ) throws(Failure) -> SecretBytes {
    guard let path = HelperProgram.find(program) else {
      throw Failure(
        .securityKey,
        "albumfs needs the program \(program) for security keys, and it is missing. Install it beside "
          + "albumfs, or in ../libexec/albumfs.")
    }
    let (socket, pid) = try start(path)
    let channel = FileDescriptor(owning: socket)
    do throws(Failure) {
      try write(SecurityKeyRequest(verb, salt: salt).line + "\n", to: channel)
      let secret = try converse(over: channel)
      _ = try? Subprocess.wait(pid)
      return secret
    } catch {
      kill(pid, SIGKILL)
      if (try? Subprocess.wait(pid)) == notLinked {
        throw Failure(
          .securityKey,
          "albumfs needs libfido2 for security keys. Install it: sudo apt install libfido2-1")
      }
      throw error
    }
  }

  /// Returns the socket, which the caller closes. The program inherits standard error.
  private static func start(_ path: String) throws(Failure) -> (socket: CInt, pid: Int32) {
    do throws(Errno) {
      let (ours, theirs) = try makeSocketPair()
      let channel = FileDescriptor(owning: ours)
      let other = FileDescriptor(owning: theirs)
      let redirections = [STDIN_FILENO, STDOUT_FILENO].map {
        Subprocess.Redirection($0, other.rawValue)
      }
      let pid = try Subprocess.start([program], program: path, redirections)
      return (channel.release(), pid)
    } catch {
      throw Failure(.securityKey, "\(path) cannot be run: \(error)")
    }
  }

  private static func converse(over channel: borrowing FileDescriptor) throws(Failure)
    -> SecretBytes
  {
    while true {
      let line = try nextLine(channel)
      if let secret = secret(in: line) { return secret }
      guard let reply = reply(in: line) else { throw ended }
      switch reply {
      case .choose:
        Terminal.message("Several security keys are plugged in. Touch the one to use.")
      case .making: Terminal.message("This security key is new to albumfs: it gets a credential.")
      case .touch: Terminal.message("Touch your security key.")
      case .pin(let tries): try send(pin: try PasswordInput.pin(prompt(tries)), over: channel)
      case .failed(let fault, let tries): throw Failure(.securityKey, fault.sentence(tries))
      }
    }
  }

  private static func prompt(_ tries: Int?) -> String {
    guard let tries, tries <= fewTries else { return "PIN of the security key: " }
    return "PIN of the security key (\(counted(tries, "try", "tries")) left): "
  }

  private static func nextLine(_ channel: borrowing FileDescriptor) throws(Failure) -> SecretBytes {
    var entry = pollfd(fd: channel.rawValue, events: Int16(POLLIN), revents: 0)
    let count = (try? retrying { unsafe poll(&entry, 1, patience) }) ?? 0
    if count == 0 {
      throw Failure(.securityKey, "\(program) does not reply; it was ended.")
    }
    return try PasswordInput.line(of: channel.rawValue, program)
  }

  /// The digits, if the line is the one with the secret.
  private static func secret(in line: borrowing SecretBytes) -> SecretBytes? {
    guard line.count == SecretLine.byteCount else { return nil }
    return unsafe line.withUnsafeBytes { line in
      let prefix = SecretLine.prefix
      let isSecret = prefix.withUTF8Buffer { unsafe line.starts(with: $0) }
      if !isSecret { return nil }
      return unsafe SecretBytes(
        copying: UnsafeRawBufferPointer(rebasing: line[prefix.utf8CodeUnitCount...]))
    }
  }

  private static func reply(in line: borrowing SecretBytes) -> SecurityKeyReply? {
    let text = unsafe line.withUnsafeBytes { unsafe String(decoding: $0, as: UTF8.self) }
    return SecurityKeyReply(line: text)
  }

  /// FIDO2 wants PINs in normal form C.
  private static func send(
    pin: borrowing SecretBytes, over channel: borrowing FileDescriptor
  ) throws(Failure) {
    let pin = PasswordText.normalized(pin)
    do throws(Errno) {
      try unsafe pin.withUnsafeBytes { bytes throws(Errno) in
        _ = try unsafe channel.write(bytes)
      }
    } catch { throw ended }
    try write("\n", to: channel)
  }

  private static func write(
    _ text: String, to channel: borrowing FileDescriptor
  ) throws(Failure) {
    do throws(Errno) { try channel.writeAll(Array(text.utf8)) } catch { throw ended }
  }

  private static var ended: Failure {
    Failure(.securityKey, "\(program) ended without a reply.")
  }
}

extension SecurityKeyFault {
  /// The sentences that say what happened and what to do. `tries`: how many wrong PINs the key still accepts.
  fileprivate func sentence(_ tries: Int?) -> String {
    switch self {
    case .noKey:
      "There is no security key. Plug it in and try again. If it is plugged in, you may not use it: see "
        + "the permissions of /dev/hidraw*."
    case .notOpened:
      "The security key cannot be opened: another program uses it, or it does not reply. Unplug it and plug it in again."
    case .noHmacSecret:
      "This security key cannot keep a space's secret: it lacks FIDO2 with the extension hmac-secret."
    case .noPin:
      "This security key has no PIN yet. Set one and try again: fido2-token -S /dev/hidrawN (fido2-token -L "
        + "lists the keys)."
    case .wrongPin:
      "The PIN is wrong." + (tries.map { " \(counted($0, "try", "tries")) left." } ?? "")
    case .pinLength: "The PIN of a security key has 4 to 63 bytes; this one does not."
    case .pinPaused:
      "The PIN was wrong too often in a row. Take the security key out, plug it in and try again."
    case .pinBlocked:
      "The PIN of this security key is blocked after too many wrong ones. Only a reset of the key helps, which "
        + "erases what it holds. Use another key, the password or the recovery key."
    case .noCredential:
      "This security key has no credential of albumfs, or was reset: it unlocks no space. To let it unlock "
        + "one, use: albumfs space add-key STORE --new-fido2"
    case .notVerified:
      "The security key did not recognise you. Try again; after too many misses it wants to be plugged in "
        + "anew, or a PIN: fido2-token -S /dev/hidrawN"
    case .full:
      "This security key has no room for a credential of albumfs. fido2-token -L -r /dev/hidrawN lists what it "
        + "holds; delete one with -D, or use another key."
    case .notTouched:
      "Nobody touched the security key in time. Try again, and touch it when it blinks."
    case .refused: "The security key refused, or you refused at the key. Try again."
    case .gone: "The security key was taken out. Plug it in and try again."
    case .silent: "The security key does not reply. Unplug it and plug it in again."
    case .garbled:
      "The security key sent a reply that FIDO2 does not allow. Unplug it and plug it in again, or use another key."
    }
  }
}
