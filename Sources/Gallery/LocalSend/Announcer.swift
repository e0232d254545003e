import NIOCore
import NIOPosix
import Posix

/// Tells LocalSend's devices in the network of the receiver, by multicast, and replies to those that ask. It
/// uses the interfaces that the server listens on, and only while a reception is open.
actor Announcer {
  /// LocalSend's group and port.
  static let group = (address: "224.0.0.167", port: 53317)
  /// When a reception opens, phones hear of it so often; datagrams get lost.
  private static let times: [Duration] = [.zero, .milliseconds(500), .seconds(2)]

  private let device: LocalSendDevice
  private let host: String
  private var channels: [any Channel]?
  private var announcing: Task<Void, Never>?

  init(_ device: LocalSendDevice, host: String) {
    self.device = device
    self.host = host
  }

  /// Listens to the group, and announces the receiver. `isWanted` is asked before each datagram. A network
  /// without multicast is no error: phones can be given the address.
  func begin(_ isWanted: @escaping @Sendable () -> Bool) async {
    if channels == nil {
      channels = []
      var made: [any Channel] = []
      for interface in Announcer.interfaces(of: host) {
        if let channel = try? await join(interface, isWanted) { made.append(channel) }
      }
      channels = made
    }
    announcing?.cancel()
    announcing = Task { [device] in
      for time in Announcer.times {
        if (try? await Task.sleep(for: time)) == nil || !isWanted() { return }
        for channel in channels ?? [] {
          AnnouncementReplies.send(device, asks: true, over: channel)
        }
      }
    }
  }

  func end() {
    announcing?.cancel()
    for channel in channels ?? [] { channel.close(promise: nil) }
    channels = nil
  }

  private func join(
    _ interface: NIONetworkDevice, _ isWanted: @escaping @Sendable () -> Bool
  ) async throws -> any Channel {
    let group = try SocketAddress(
      ipAddress: Announcer.group.address, port: Announcer.group.port)
    let device = device
    let channel = try await DatagramBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      // Another program of LocalSend on this machine may listen too.
      .channelOption(.socketOption(.so_reuseaddr), value: 1)
      // Without this the socket hears what any other program's interface joined.
      .channelOption(Announcer.hearsAll, value: 0)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(AnnouncementReplies(device, isWanted))
        }
      }
      .bind(to: group).get()
    do {
      guard let multicast = channel as? any MulticastChannel,
        let options = channel as? any SocketOptionProvider,
        let own = AddressText.internetAddress(interface.address?.ipAddress ?? "")
      else { throw ChannelError.operationUnsupported }
      try await multicast.joinGroup(group, device: interface).get()
      try await options.setIPMulticastIF(own).get()
      return channel
    } catch {
      channel.close(promise: nil)
      throw error
    }
  }

  /// IP_MULTICAST_ALL of <linux/in.h>, which Glibc's module leaves out.
  private static let hearsAll = ChannelOptions.Types.SocketOption(
    level: .ip, name: NIOBSDSocket.Option(rawValue: 49))

  /// The interfaces with an IPv4 address that the server listens on; the loopback interface takes no part.
  /// LocalSend's group has no address of IPv6.
  private static func interfaces(of host: String) -> [NIONetworkDevice] {
    let all = ((try? System.enumerateDevices()) ?? []).filter { device in
      guard case .v4? = device.address else { return false }
      return device.multicastSupported
    }
    if AddressText.isAny(host) { return all }
    let address = (try? SocketAddress.makeAddressResolvingHost(host, port: 0))?.ipAddress
    return Array(all.filter { $0.address?.ipAddress == address }.prefix(1))
  }
}

/// Replies to announcements of other devices, at most one a second.
private final class AnnouncementReplies: ChannelInboundHandler {
  typealias InboundIn = AddressedEnvelope<ByteBuffer>
  private static let sizeLimit = 4096
  private static let pause = TimeAmount.seconds(1)

  private let device: LocalSendDevice
  private let isWanted: @Sendable () -> Bool
  private var next = NIODeadline.uptimeNanoseconds(0)

  init(_ device: LocalSendDevice, _ isWanted: @escaping @Sendable () -> Bool) {
    self.device = device
    self.isWanted = isWanted
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    let datagram = unwrapInboundIn(data).data
    guard datagram.readableBytes <= AnnouncementReplies.sizeLimit, NIODeadline.now() >= next,
      isWanted(), device.mustReply(to: datagram.readableBytesView)
    else { return }
    next = .now() + AnnouncementReplies.pause
    AnnouncementReplies.send(device, asks: false, over: context.channel)
  }

  /// A send that fails, as while the network is down, is no reason to stop.
  func errorCaught(context: ChannelHandlerContext, error: any Error) {}

  static func send(_ device: LocalSendDevice, asks: Bool, over channel: any Channel) {
    guard
      let group = try? SocketAddress(
        ipAddress: Announcer.group.address, port: Announcer.group.port)
    else { return }
    let bytes = ByteBuffer(bytes: device.announcement(asks: asks))
    channel.writeAndFlush(AddressedEnvelope(remoteAddress: group, data: bytes), promise: nil)
  }
}
