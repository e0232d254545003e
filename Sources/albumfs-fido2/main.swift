// albumfs-fido2: asks a FIDO2 security key for the secret that it makes with a store's salt.
//
// Only albumfs starts it; SecurityKeyProtocol has their conversation. libfido2 parses what a USB device
// sends, so it stays out of the process that holds the keys of a space. This program sees the salt, the
// PIN and the secret for one command, and then it ends.
import AlbumSecrets
import CLinux
import Glibc
import SecurityKeyProtocol

/// PR_SET_PDEATHSIG and PR_SET_DUMPABLE of <sys/prctl.h>, which Glibc's module leaves out.
let parentDeathSignal: CInt = 1
let dumpable: CInt = 4

// It ends with albumfs. Neither core dumps nor debuggers of the same user see its memory.
_ = clinux_prctl(parentDeathSignal, UInt(SIGKILL), 0)
_ = clinux_prctl(dumpable, 0, 0)
clinux_close_from(UInt32(STDERR_FILENO) + 1)

guard let request = Conversation.request() else { exit(1) }
do throws(SecurityKeyFault) {
  let key = try select()
  let pin = try askForPin(key)
  do throws(SecurityKeyFault) {
    Conversation.send(secret: try secret(request, key, pin))
  } catch .wrongPin {
    Conversation.send(.failed(.wrongPin, tries: key.tries))
    exit(1)
  }
} catch {
  Conversation.send(.failed(error, tries: nil))
  exit(1)
}

func select() throws(SecurityKeyFault) -> SecurityKey {
  let keys = try SecurityKey.openAll()
  if keys.count == 1 { return keys[0] }
  Conversation.send(.choose)
  return try SecurityKey.touched(of: keys)
}

/// Returns nil if the key verifies its user without a PIN of albumfs.
func askForPin(_ key: SecurityKey) throws(SecurityKeyFault) -> SecretBytes? {
  if !key.hasPin {
    if key.verifiesUser { return nil }
    throw .noPin
  }
  let tries = key.tries
  if tries == 0 { throw .pinBlocked }
  Conversation.send(.pin(tries: tries))
  guard let pin = try Conversation.pin() else { exit(1) }
  return pin
}

func secret(
  _ request: SecurityKeyRequest, _ key: SecurityKey, _ pin: borrowing SecretBytes?
) throws(SecurityKeyFault) -> SecretBytes {
  do throws(SecurityKeyFault) {
    Conversation.send(.touch)
    return try key.secret(salt: request.salt, pin: pin)
  } catch {
    guard error == .noCredential, request.verb == .make else { throw error }
    Conversation.send(.making)
    try key.makeCredential(pin: pin)
    Conversation.send(.touch)
    return try key.secret(salt: request.salt, pin: pin)
  }
}
