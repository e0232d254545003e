import AlbumSecrets
import CFido2
import Glibc
import SecurityKeyProtocol

// The only file that calls libfido2.

/// A FIDO2 security key that is plugged in and open. One thread uses it.
@safe final class SecurityKey {
  /// The relying party of albumfs' only credential on a key, and the user of that credential. A key keeps one
  /// credential for each pair.
  private static let party = "albumfs"
  private static let mostKeys = 64
  /// How long a key may take to reply, in milliseconds, and how long a user may take to touch it.
  private static let replyTimeout: CInt = 5_000
  private static let touchTimeout: CInt = 60_000
  private static let millisecondsPerLook: CInt = 100
  /// The flag of authenticator data that says that the key has verified its user.
  private static let userVerified: UInt8 = 4

  private let device: OpaquePointer

  private init(_ device: OpaquePointer) { unsafe self.device = device }

  deinit {
    _ = unsafe fido_dev_close(device)
    var device: OpaquePointer? = unsafe device
    unsafe fido_dev_free(&device)
  }

  // MARK: Finding

  /// Opens all keys that support hmac-secret. Throws `.noKey`, `.notOpened`, `.noHmacSecret`.
  static func openAll() throws(SecurityKeyFault) -> [SecurityKey] {
    // libfido2 would write what it sends and receives to standard error, secrets among it.
    unsafe _ = unsetenv("FIDO_DEBUG")
    fido_init(0)
    let paths = pluggedIn()
    if paths.isEmpty { throw .noKey }
    let opened = paths.compactMap(open)
    if opened.isEmpty { throw .notOpened }
    let able = opened.filter(\.hasHmacSecret)
    if able.isEmpty { throw .noHmacSecret }
    return able
  }

  private static func pluggedIn() -> [String] {
    #if DEBUG
    if let simulated = SimulatedKeys.paths { return simulated }
    #endif
    var list = unsafe fido_dev_info_new(mostKeys)
    defer { unsafe fido_dev_info_free(&list, mostKeys) }
    var count = 0
    guard unsafe fido_dev_info_manifest(list, mostKeys, &count) == FIDO_OK else { return [] }
    return (0..<count).compactMap { place in
      let path = unsafe fido_dev_info_ptr(list, place).flatMap { unsafe fido_dev_info_path($0) }
      return unsafe path.map { unsafe String(cString: $0) }
    }
  }

  private static func open(_ path: String) -> SecurityKey? {
    guard let device = unsafe fido_dev_new() else { return nil }
    let key = unsafe SecurityKey(device)
    #if DEBUG
    if SimulatedKeys.paths != nil {
      var calls = unsafe fido_dev_io_t(
        open: SimulatedKeys.open, close: SimulatedKeys.close, read: SimulatedKeys.read,
        write: SimulatedKeys.write)
      _ = unsafe fido_dev_set_io_functions(device, &calls)
    }
    #endif
    key.limit(replyTimeout)
    return unsafe fido_dev_open(device, path) == FIDO_OK ? key : nil
  }

  private var hasHmacSecret: Bool {
    unsafe fido_dev_is_fido2(device) && albumfs_fido2_has_hmac_secret(device)
  }

  /// Waits until the user touches one of several keys. Throws `.notTouched`, `.garbled`.
  static func touched(of keys: [SecurityKey]) throws(SecurityKeyFault) -> SecurityKey {
    var waiting = keys.filter { unsafe fido_dev_get_touch_begin($0.device) == FIDO_OK }
    let rounds = patience(touchTimeout) / millisecondsPerLook
    for _ in 0..<rounds {
      for key in waiting {
        var isTouched: CInt = 0
        let code = unsafe fido_dev_get_touch_status(key.device, &isTouched, millisecondsPerLook)
        if code != FIDO_OK { waiting.removeAll { $0 === key } }
        if isTouched != 0 {
          for other in waiting where other !== key { _ = unsafe fido_dev_cancel(other.device) }
          return key
        }
      }
      if waiting.isEmpty { throw .garbled }
    }
    for key in waiting { _ = unsafe fido_dev_cancel(key.device) }
    throw .notTouched
  }

  // MARK: The PIN

  var hasPin: Bool { unsafe fido_dev_has_pin(device) }
  /// True if the key verifies its user by itself: by a fingerprint, or a PIN on its own keyboard.
  var verifiesUser: Bool { unsafe fido_dev_has_uv(device) }

  /// How many wrong PINs the key still accepts; nil if it does not say.
  var tries: Int? {
    limit(SecurityKey.replyTimeout)
    var count: CInt = 0
    return unsafe fido_dev_get_retry_count(device, &count) == FIDO_OK ? Int(count) : nil
  }

  // MARK: The secret

  /// The secret for this salt of the credential of albumfs. `pin` ends with a zero byte; nil if the key
  /// verifies its user by itself. Waits for a touch.
  func secret(salt: [UInt8], pin: borrowing SecretBytes?) throws(SecurityKeyFault) -> SecretBytes {
    var assertion = unsafe fido_assert_new()
    defer { unsafe fido_assert_free(&assertion) }
    let challenge = SecurityKey.challenge()
    let isReady = unsafe [
      fido_assert_set_clientdata_hash(assertion, challenge, challenge.count),
      fido_assert_set_rp(assertion, SecurityKey.party),
      fido_assert_set_extensions(assertion, FIDO_EXT_HMAC_SECRET),
      fido_assert_set_hmac_salt(assertion, salt, salt.count),
      pin == nil ? fido_assert_set_uv(assertion, FIDO_OPT_TRUE) : FIDO_OK,
    ].allSatisfy { $0 == FIDO_OK }
    guard isReady else { throw .garbled }
    try unsafe call(pin) { unsafe fido_dev_get_assert(device, assertion, $0) }
    // A key keeps one credential for this relying party and user.
    guard unsafe fido_assert_count(assertion) == 1,
      unsafe fido_assert_flags(assertion, 0) & SecurityKey.userVerified != 0,
      unsafe fido_assert_hmac_secret_len(assertion, 0) == SecretLine.secretByteCount,
      let secret = unsafe fido_assert_hmac_secret_ptr(assertion, 0)
    else { throw .garbled }
    return unsafe SecretBytes(
      copying: UnsafeRawBufferPointer(start: secret, count: SecretLine.secretByteCount))
  }

  /// Makes the credential of albumfs on this key. Where the key can do that, nobody sees the credential
  /// without the PIN. Waits for a touch.
  func makeCredential(pin: borrowing SecretBytes?) throws(SecurityKeyFault) {
    var credential = unsafe fido_cred_new()
    defer { unsafe fido_cred_free(&credential) }
    let challenge = SecurityKey.challenge()
    let user = Array(SecurityKey.party.utf8)
    let party = SecurityKey.party
    let hidesCredential = unsafe fido_dev_supports_cred_prot(device)
    let isReady = unsafe [
      fido_cred_set_type(credential, COSE_ES256),
      fido_cred_set_clientdata_hash(credential, challenge, challenge.count),
      fido_cred_set_rp(credential, party, party),
      fido_cred_set_user(credential, user, user.count, party, party, nil),
      fido_cred_set_extensions(credential, FIDO_EXT_HMAC_SECRET),
      hidesCredential ? fido_cred_set_prot(credential, FIDO_CRED_PROT_UV_REQUIRED) : FIDO_OK,
      fido_cred_set_rk(credential, FIDO_OPT_TRUE),
      pin == nil ? fido_cred_set_uv(credential, FIDO_OPT_TRUE) : FIDO_OK,
    ].allSatisfy { $0 == FIDO_OK }
    guard isReady else { throw .garbled }
    try unsafe call(pin) { unsafe fido_dev_make_cred(device, credential, $0) }
  }

  /// albumfs verifies no signature, so nobody compares this with anything.
  private static func challenge() -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: 32)
    unsafe bytes.withUnsafeMutableBytes { unsafe Sodium.random($0) }
    return bytes
  }

  private func call(
    _ pin: borrowing SecretBytes?, _ body: (UnsafePointer<CChar>?) -> CInt
  ) throws(SecurityKeyFault) {
    limit(SecurityKey.touchTimeout)
    let start = ContinuousClock.now
    let code: CInt
    switch pin {
    case .none: code = body(nil)
    case .some(let pin):
      code = unsafe pin.withUnsafeBytes {
        unsafe body($0.baseAddress!.assumingMemoryBound(to: CChar.self))
      }
    }
    if code == FIDO_OK { return }
    let isOver =
      ContinuousClock.now - start
      >= .milliseconds(Int(SecurityKey.patience(SecurityKey.touchTimeout)))
    throw fault(code, isOver: isOver)
  }

  private func fault(_ code: CInt, isOver: Bool) -> SecurityKeyFault {
    switch code {
    case FIDO_ERR_PIN_INVALID: .wrongPin
    case FIDO_ERR_UV_INVALID, FIDO_ERR_UV_BLOCKED: .notVerified
    case FIDO_ERR_PIN_POLICY_VIOLATION, FIDO_ERR_INVALID_ARGUMENT: .pinLength
    case FIDO_ERR_PIN_AUTH_BLOCKED: .pinPaused
    case FIDO_ERR_PIN_BLOCKED: .pinBlocked
    case FIDO_ERR_PIN_NOT_SET, FIDO_ERR_PIN_REQUIRED: .noPin
    // No other code may mean this: a new credential replaces the one that is there.
    case FIDO_ERR_NO_CREDENTIALS: .noCredential
    case FIDO_ERR_KEY_STORE_FULL, FIDO_ERR_LIMIT_EXCEEDED: .full
    case FIDO_ERR_ACTION_TIMEOUT, FIDO_ERR_USER_ACTION_TIMEOUT, FIDO_ERR_TIMEOUT: .notTouched
    case FIDO_ERR_OPERATION_DENIED, FIDO_ERR_KEEPALIVE_CANCEL, FIDO_ERR_NOT_ALLOWED: .refused
    case FIDO_ERR_UNSUPPORTED_EXTENSION, FIDO_ERR_UNSUPPORTED_OPTION: .noHmacSecret
    case FIDO_ERR_TX, FIDO_ERR_RX: isOver ? .silent : .gone
    default: isOver ? .silent : isGone ? .gone : .garbled
    }
  }

  /// Asks the key for something small, since libfido2 reports some failures of the connection as its own.
  private var isGone: Bool {
    limit(SecurityKey.replyTimeout)
    var count: CInt = 0
    let code = unsafe fido_dev_get_retry_count(device, &count)
    return code == FIDO_ERR_TX || code == FIDO_ERR_RX
  }

  // MARK: Time

  private func limit(_ milliseconds: CInt) {
    _ = unsafe fido_dev_set_timeout(device, SecurityKey.patience(milliseconds))
  }

  private static func patience(_ milliseconds: CInt) -> CInt {
    #if DEBUG
    SimulatedKeys.paths == nil ? milliseconds : min(milliseconds, SimulatedKeys.milliseconds)
    #else
    milliseconds
    #endif
  }
}
