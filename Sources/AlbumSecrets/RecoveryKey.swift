package import AlbumFormat

/// A space's master key for a person to write down and type in: 56 characters in 14 groups,
///
///     0123-4567-89AB-CDEF-GHJK-MNPQ-RSTV-WXYZ-0123-4567-89AB-CDEF-GHJK-MNPQ
///
/// The alphabet is Crockford's base32, without I, L, O and U. It encodes 280 bits, most significant first:
/// the 256 of the key and 24 of a checksum. The checksum is the first three bytes of BLAKE2b-256 of the key,
/// keyed with the 24 ASCII bytes `albumfs recovery key 1.0`. Their 1 is the raw value of the space's
/// `CipherKind`, so the checksum identifies the cipher. A mistyped key passes once in 8 million.
package enum RecoveryKey {
  private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
  private static let digitCount = 56
  private static let groupLength = 4
  private static let byteCount = 35

  /// Why a text is no recovery key, or not one for this machine. Names the place, never the characters.
  package enum Mistake: Error, Equatable, Sendable {
    /// The number of characters, if it is not 56.
    case length(Int)
    /// The position of an impossible character, counted from 1 without dashes and spaces.
    case character(Int)
    case checksum
    /// The machine does not have the cipher of the key's space.
    case unavailable(CipherKind)
  }

  /// Returns the text, ASCII.
  package static func encode(_ keys: SpaceKeys) -> SecretBytes {
    let packed = pack(keys.master, keys.cipher.kind)
    let textCount = digitCount + digitCount / groupLength - 1
    return unsafe packed.withUnsafeBytes { packed in
      unsafe SecretBytes(count: textCount) { text in
        var place = 0
        for digit in 0..<digitCount {
          if digit > 0, digit % groupLength == 0 {
            unsafe text[place] = UInt8(ascii: "-")
            place += 1
          }
          unsafe text[place] = unsafe alphabet[value(of: digit, in: packed)]
          place += 1
        }
      }
    }
  }

  /// The twin of `encode`. Accepts lower case, spaces and dashes anywhere, O for 0, I and L for 1.
  package static func decode(_ text: borrowing SecretBytes) throws(Mistake) -> SpaceKeys {
    var count = 0
    var strange: Int?
    let packed = unsafe text.withUnsafeBytes { text in
      unsafe SecretBytes(count: byteCount) { packed in
        for place in 0..<text.count {
          let character = unsafe text[place]
          if isSeparator(character) { continue }
          count += 1
          guard let value = value(of: character) else {
            strange = strange ?? count
            continue
          }
          if count <= digitCount { unsafe put(value, at: count - 1, into: packed) }
        }
      }
    }
    if let strange { throw .character(strange) }
    if count != digitCount { throw .length(count) }
    let master = unsafe packed.withUnsafeBytes {
      unsafe SecretBytes(
        copying: UnsafeRawBufferPointer(rebasing: $0[..<Sodium.keyByteCount]))
    }
    for kind in CipherKind.allCases where pack(master, kind).isEqual(to: packed) {
      if !kind.isAvailable { throw .unavailable(kind) }
      return SpaceKeys(master: master, cipher: kind)
    }
    throw .checksum
  }

  /// The master key and its checksum.
  private static func pack(_ master: borrowing SecretBytes, _ kind: CipherKind) -> SecretBytes {
    unsafe master.withUnsafeBytes { master in
      unsafe SecretBytes(count: byteCount) { packed in
        unsafe packed.copyMemory(from: master)
        let sum = unsafe checksum(master, kind)
        for place in 0..<3 { unsafe packed[Sodium.keyByteCount + place] = sum[place] }
      }
    }
  }

  private static func checksum(_ master: UnsafeRawBufferPointer, _ kind: CipherKind) -> [UInt8] {
    var hash = [UInt8](repeating: 0, count: 32)
    let key = Array("albumfs recovery key \(kind.rawValue).0".utf8)
    unsafe hash.withUnsafeMutableBytes { hash in
      unsafe key.withUnsafeBytes { unsafe Sodium.keyedHash(master, into: hash, key: $0) }
    }
    return hash
  }

  // MARK: Digits of five bits

  private static func value(of digit: Int, in packed: UnsafeRawBufferPointer) -> Int {
    var value = 0
    for bit in digit * 5..<digit * 5 + 5 {
      value = unsafe value << 1 | Int(packed[bit / 8] >> (7 - bit % 8) & 1)
    }
    return value
  }

  private static func put(
    _ value: Int, at digit: Int, into packed: UnsafeMutableRawBufferPointer
  ) {
    for step in 0..<5 {
      let bit = digit * 5 + step
      unsafe packed[bit / 8] |= UInt8(value >> (4 - step) & 1) << (7 - bit % 8)
    }
  }

  private static func isSeparator(_ character: UInt8) -> Bool {
    character == UInt8(ascii: "-") || character == UInt8(ascii: " ")
      || (9...13).contains(character)
  }

  private static func value(of character: UInt8) -> Int? {
    let upper =
      (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(character)
      ? character - 32 : character
    switch upper {
    case UInt8(ascii: "O"): return 0
    case UInt8(ascii: "I"), UInt8(ascii: "L"): return 1
    default: return alphabet.firstIndex(of: upper)
    }
  }
}
