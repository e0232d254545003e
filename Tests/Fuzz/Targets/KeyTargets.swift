import AlbumFormat
import AlbumSecrets

@testable import AlbumStore

private let passwordKey: PasswordKey = {
  let derivation = KeyDerivation(
    number: 1, cost: KDFCost(operations: 1, memory: 8 << 10),
    salt: [UInt8](repeating: 7, count: 16))
  let line = StoreConfiguration(segmentSize: 4 << 20, derivations: [derivation]).formatLine
  guard
    let key = PasswordKey(
      password: FixedSpace.secret([1, 2, 3]), derivation: derivation, formatLine: line)
  else { fatalError("no memory for Argon2id") }
  return key
}()

/// The file `keys`, with sealed slots. Whatever it contains, only sealed slots decrypt, and a change would
/// keep every other slot.
enum KeySlotsTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    let slots = KeySlots(birth: passwordKey, SlotContent(FixedSpace.keys)).bytes
    let slot = passwordKey.wrap(SlotContent(FixedSpace.keys))
    return [
      slot, slot + slot, Array(slots.prefix(8 * 512)),
      slot + [UInt8](repeating: 0, count: 7 * 512),
    ]
  }

  static func run(_ bytes: [UInt8]) {
    var slots = KeySlots(bytes)
    do throws(StoreError) {
      let found = try slots.find([passwordKey])
      _ = found.content.spaceKeys()
      require(found.lines == [passwordKey.derivation], "a slot says by which line it was sealed")
      let content = found.content.vouching(for: found.lines)
      for place in found.places { slots.replace(place, passwordKey, content) }
      require(slots.isProven(by: slots.bytes), "a changed file can be proven")
    } catch {
      require(!error.message.isEmpty, "a refusal says why")
      slots.insert(passwordKey, SlotContent(FixedSpace.keys))
      require(slots.isProven(by: slots.bytes), "a file with a new slot can be proven")
    }
  }
}

/// The plaintext of a slot: any 440 bytes, sealed and decrypted again.
enum SlotContentTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    var plain = [UInt8](repeating: 0, count: KeySlot.plaintextByteCount)
    plain[32] = 1
    var newer = plain
    newer[40] = 1
    var vouching = plain
    for place in 96..<160 { vouching[place] = UInt8(place) }
    return [plain, newer, vouching]
  }

  static func run(_ bytes: [UInt8]) {
    var plain = bytes.prefix(KeySlot.plaintextByteCount)
    plain += [UInt8](repeating: 0, count: KeySlot.plaintextByteCount - plain.count)
    let header = unsafe Array(plain).withUnsafeBytes { unsafe KeySlot.Content(decoding: $0) }
    if CipherKind(rawValue: header.cipher) == nil {
      return require(header.refusal != nil, "a cipher that nobody knows is refused")
    }
    let content = SlotContent(FixedSpace.keys, header: header)
    let slots = KeySlots(passwordKey.wrap(content))
    do throws(StoreError) {
      let found = try slots.find([passwordKey])
      require(found.content.isEqual(to: content), "what was sealed is what opens")
      require(found.content.header == header, "what a slot says is there again")
      require(header.refusal == nil, "only what is understood opens")
      require(found.content.spaceKeys().isWritable == header.isWritable, "it is said who may write")
    } catch {
      require(error.code == .unsupportedFeature && header.refusal != nil, "a slot opens again")
    }
  }
}
