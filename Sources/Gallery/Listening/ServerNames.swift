import NIOCore
import Posix

/// A name of a server, as certificates and requests have it.
enum ServerName: Hashable {
  /// The 4 or 16 bytes of an address.
  case address([UInt8])
  /// In small letters.
  case host(String)

  /// nil for a text that is neither an address nor a host name.
  init?(_ text: String) {
    if let bytes = AddressText.bytes(text) {
      self = .address(bytes)
      return
    }
    let isHost = text.allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber || "-._".contains($0))
    }
    if text.isEmpty || !isHost { return nil }
    self = .host(text.lowercased())
  }
}

/// The names by which the server goes. A page elsewhere can make a name of its own lead here (DNS rebinding);
/// its requests have that name in `Host`, by which they are told.
struct ServerNames: Sendable {
  private let names: Set<ServerName>

  /// - Parameters:
  ///   - host: where the server listens, a name or a number.
  ///   - certified: the names of its certificate.
  init(listening host: String, certified: Set<ServerName>) {
    names = certified.union(ServerNames.own(listening: host).compactMap(ServerName.init))
  }

  /// The names that this machine gives a server.
  static func own(listening host: String) -> Set<String> {
    var names: Set = ["localhost", "127.0.0.1", "::1"]
    if let name = AddressText.hostName {
      names.insert(name)
      if !name.contains(".") { names.insert(name + ".local") }
    }
    if AddressText.isAny(host) { names.formUnion(AddressText.own) } else { names.insert(host) }
    return names
  }

  /// True for a `Host` that names the server. The port may be another one, as where a port is forwarded.
  ///
  /// - Parameter local: the address at which the request came in, which the machine may have got since the
  ///   server started.
  func contains(_ authority: String, at local: SocketAddress?) -> Bool {
    guard let text = ServerNames.host(authority), let name = ServerName(text) else { return false }
    if names.contains(name) || AddressText.isLoopback(text) { return true }
    switch name {
    case .address: return local?.ipAddress.flatMap(ServerName.init) == name
    // A certificate may be for all names of a domain.
    case .host(let host): return names.contains(.host("*" + host.drop { $0 != "." }))
    }
  }

  /// The host of an authority: without the port, the brackets of IPv6, and the dot that ends a full name. nil
  /// where something else stands behind it.
  private static func host(_ authority: String) -> String? {
    let isNumber = authority.hasPrefix("[")
    let name =
      isNumber ? authority.dropFirst().prefix { $0 != "]" } : authority.prefix { $0 != ":" }
    let rest = authority[name.endIndex...].dropFirst(isNumber ? 1 : 0)
    let port = rest.dropFirst()
    guard
      rest.isEmpty || rest.hasPrefix(":") && port.utf8.allSatisfy({ (0x30...0x39).contains($0) })
    else { return nil }
    return String(!isNumber && name.hasSuffix(".") ? name.dropLast() : name)
  }
}
