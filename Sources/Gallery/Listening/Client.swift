import NIOCore
import Posix

/// Whom the server takes for one client: an address of IPv4, or a network of IPv6, in which one machine may
/// use any address.
struct Client: Hashable, Sendable {
  private let bytes: [UInt8]

  /// The terminal, or a connection whose other end is unknown.
  static let local = Client(bytes: [])

  private init(bytes: [UInt8]) { self.bytes = bytes }

  init(_ address: SocketAddress?) {
    guard let text = address?.ipAddress, let bytes = AddressText.bytes(text) else {
      self = .local
      return
    }
    // A server that listens on all addresses of IPv6 sees those of IPv4 in ::ffff:0:0/96.
    let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]
    self.bytes = bytes.starts(with: mapped) ? Array(bytes.dropFirst(12)) : Array(bytes.prefix(8))
  }
}

/// Bounds the connections of each client, so that one without a password cannot take all. Any thread.
final class ConnectionShares: Sendable {
  private let open = Mutex<[Client: Int]>([:], rank: .leaf)
  private let limit: Int

  init(each limit: Int) { self.limit = limit }

  /// Counts a connection until it ends; returns false for one too many.
  func take(_ channel: any Channel) -> Bool {
    let client = Client(channel.remoteAddress)
    let isOne = open.withLock { open in
      let count = open[client, default: 0]
      if count >= limit { return false }
      open[client] = count + 1
      return true
    }
    if isOne { channel.closeFuture.whenComplete { [self] _ in end(client) } }
    return isOne
  }

  private func end(_ client: Client) {
    open.withLock { open in
      let count = (open[client] ?? 1) - 1
      open[client] = count == 0 ? nil : count
    }
  }
}
