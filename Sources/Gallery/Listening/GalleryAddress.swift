import Posix

/// Where the server can be reached, as people may type it.
struct GalleryAddress: Sendable {
  let host: String
  let port: Int

  /// - Parameter listening: the address or name that the server listens on.
  init(listening host: String, port: Int) {
    self.host = AddressText.isAny(host) ? AddressText.own.first ?? "localhost" : host
    self.port = port
  }

  /// The host and the port, with the brackets of IPv6.
  var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

  /// True if only this machine can reach it.
  var isLoopback: Bool { AddressText.isLoopback(host) }
}
