import NetworkCell
import ObjectStores

/// The requests of the caller, and the replies.
enum Channel {
  /// The next request and its body; nil if the caller is gone or writes none.
  static func receive() -> (RemoteRequest, [UInt8])? {
    guard let start = Caller.receive(RemoteFrame.lengthBytes),
      let lengths = RemoteFrame.lengths(start),
      let head = Caller.receive(lengths.head), let request = RemoteRequest(head),
      let body = Caller.receive(lengths.body)
    else { return nil }
    return (request, body)
  }

  /// Returns false if the caller is gone.
  @discardableResult
  static func send(_ reply: RemoteReply, _ body: [UInt8]) -> Bool {
    let head = reply.encode()
    return Caller.send(RemoteFrame.lengths(head: head.count, body: body.count) + head)
      && Caller.send(body)
  }
}
