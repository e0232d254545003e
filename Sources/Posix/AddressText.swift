package import Glibc

/// Addresses of the Internet protocol as text, and the names of this machine.
package enum AddressText {
  /// The 4 or 16 bytes of an address; nil for anything else.
  package static func bytes(_ text: String) -> [UInt8]? {
    for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
      var bytes = [UInt8](repeating: 0, count: count)
      let result = unsafe bytes.withUnsafeMutableBytes {
        unsafe inet_pton(family, text, $0.baseAddress)
      }
      if result == 1 { return bytes }
    }
    return nil
  }

  /// An address of IPv4 as system calls take it; nil for anything else.
  package static func internetAddress(_ text: String) -> in_addr? {
    guard let bytes = bytes(text), bytes.count == 4 else { return nil }
    return in_addr(s_addr: UInt32(bigEndian: bytes.reduce(0) { $0 << 8 | UInt32($1) }))
  }

  /// True for an address that only this machine can reach.
  package static func isLoopback(_ text: String) -> Bool {
    if text == "localhost" { return true }
    guard let bytes = bytes(text) else { return false }
    return bytes.count == 4 ? bytes[0] == 127 : bytes == [UInt8](repeating: 0, count: 15) + [1]
  }

  /// True for an address that stands for all addresses of this machine.
  package static func isAny(_ text: String) -> Bool {
    bytes(text).map { $0.allSatisfy { $0 == 0 } } ?? false
  }

  /// gethostname(2).
  package static var hostName: String? {
    var name = [CChar](repeating: 0, count: 256)
    guard unsafe gethostname(&name, name.count - 1) == 0 else { return nil }
    let bytes = name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return bytes.isEmpty ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// The addresses of this machine that others may reach, IPv4 first (getifaddrs(3)).
  package static var own: [String] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard unsafe getifaddrs(&list) == 0 else { return [] }
    defer { unsafe freeifaddrs(list) }
    var found: [String] = []
    var next = unsafe list
    while let entry = unsafe next {
      if let text = unsafe entry.pointee.ifa_addr.flatMap({ unsafe number(of: $0) }),
        !isLoopback(text), !text.hasPrefix("fe80"), !found.contains(text)
      {
        found.append(text)
      }
      unsafe next = entry.pointee.ifa_next
    }
    return found.filter { !$0.contains(":") } + found.filter { $0.contains(":") }
  }

  /// The networks of this machine's interfaces: an address of each, and how many of its bits are the
  /// network's (getifaddrs(3)).
  package static var ownNetworks: [(bytes: [UInt8], bits: Int)] {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard unsafe getifaddrs(&list) == 0 else { return [] }
    defer { unsafe freeifaddrs(list) }
    var found: [(bytes: [UInt8], bits: Int)] = []
    var next = unsafe list
    while let entry = unsafe next {
      if let address = unsafe entry.pointee.ifa_addr.flatMap({ unsafe raw($0) }),
        let mask = unsafe entry.pointee.ifa_netmask.flatMap({ unsafe raw($0) }),
        address.count == mask.count
      {
        let bits = mask.reduce(0) { $0 + $1.nonzeroBitCount }
        if bits > 0 { found.append((bytes: address, bits: bits)) }
      }
      unsafe next = entry.pointee.ifa_next
    }
    return found
  }

  /// The 4 or 16 bytes of an address.
  private static func raw(_ address: UnsafeMutablePointer<sockaddr>) -> [UInt8]? {
    let start = UnsafeRawPointer(address)
    switch unsafe CInt(address.pointee.sa_family) {
    case AF_INET:
      let number = unsafe start.loadUnaligned(as: sockaddr_in.self).sin_addr
      return unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
    case AF_INET6:
      let number = unsafe start.loadUnaligned(as: sockaddr_in6.self).sin6_addr
      return unsafe withUnsafeBytes(of: number) { unsafe Array($0) }
    default: return nil
    }
  }

  private static func number(of address: UnsafeMutablePointer<sockaddr>) -> String? {
    let family = unsafe CInt(address.pointee.sa_family)
    guard family == AF_INET || family == AF_INET6 else { return nil }
    let size = family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size
    var text = [CChar](repeating: 0, count: 64)
    let result = unsafe getnameinfo(
      address, socklen_t(size), &text, socklen_t(text.count), nil, 0, NI_NUMERICHOST)
    if result != 0 { return nil }
    return String(
      decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
