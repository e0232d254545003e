/// Tells addresses of the Internet from those of one's own machine and networks.
package struct PublicAddress: Sendable {
  /// A range of addresses: the first bits of one, and how many count.
  package struct Network: Equatable, Sendable {
    package var bytes: [UInt8]
    package var bits: Int

    package init(_ bytes: [UInt8], bits: Int) {
      self.bytes = bytes
      self.bits = bits
    }

    func contains(_ address: [UInt8]) -> Bool {
      if address.count != bytes.count { return false }
      for place in address.indices {
        let count = min(8, max(0, bits - 8 * place))
        let mask = UInt8(truncatingIfNeeded: 0xFF00 >> count)
        if address[place] & mask != bytes[place] & mask { return false }
      }
      return true
    }
  }

  /// The networks that this machine is in itself. Their addresses may be public ones, and still lie in the
  /// house: with IPv6, that is usual.
  private let own: [Network]

  package init(own: [Network]) { self.own = own }

  /// What IANA's registries of special-purpose addresses name, multicast, and what is reserved.
  private static let special4: [Network] = [
    ([0, 0, 0, 0], 8), ([10, 0, 0, 0], 8), ([100, 64, 0, 0], 10), ([127, 0, 0, 0], 8),
    ([169, 254, 0, 0], 16), ([172, 16, 0, 0], 12), ([192, 0, 0, 0], 24), ([192, 0, 2, 0], 24),
    ([192, 88, 99, 0], 24), ([192, 168, 0, 0], 16), ([198, 18, 0, 0], 15), ([198, 51, 100, 0], 24),
    ([203, 0, 113, 0], 24), ([224, 0, 0, 0], 4), ([240, 0, 0, 0], 4),
  ].map { Network($0.0, bits: $0.1) }

  private static func network6(_ first: [UInt8], _ bits: Int) -> Network {
    Network(first + [UInt8](repeating: 0, count: 16 - first.count), bits: bits)
  }

  /// All public addresses of IPv6 lie in here …
  private static let global6 = network6([0x20], 3)
  /// … and these are none: protocols (Teredo among them), documentation, 6to4.
  private static let special6 = [
    network6([0x20, 0x01, 0, 0], 23), network6([0x20, 0x01, 0x0D, 0xB8], 32),
    network6([0x20, 0x02], 16), network6([0x3F, 0xFF, 0], 20),
  ]
  /// A translator's addresses, which hold one of IPv4 (RFC 6052).
  private static let translated = network6([0, 0x64, 0xFF, 0x9B], 96)

  /// True for an address that anybody in the Internet may reach, and that lies in no network of this machine:
  /// 4 bytes of IPv4 or 16 of IPv6.
  package func allows(_ address: [UInt8]) -> Bool {
    if own.contains(where: { $0.contains(address) }) { return false }
    switch address.count {
    case 4: return !PublicAddress.special4.contains { $0.contains(address) }
    case 16:
      if PublicAddress.translated.contains(address) { return allows(Array(address[12...])) }
      return PublicAddress.global6.contains(address)
        && !PublicAddress.special6.contains { $0.contains(address) }
    default: return false
    }
  }
}
