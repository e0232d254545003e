internal import AlbumModel
internal import AlbumSecrets
internal import Posix

/// How an `S3Store` behaves towards its server.
package struct S3StoreOptions: Sendable {
  /// How many requests are made at once.
  package var connections = 8
  /// How long a request is tried again.
  package var patience = TestHooks.delay(.remote, .seconds(60))
  /// The bucket is in the name of the host, if the server has a name.
  package var isBucketInHost = false
  /// How long nothing may move on a connection, in seconds: several attempts fit `patience`.
  package var stallSeconds = 15
  /// True once the caller wants to stop.
  package var isStopped: @Sendable () -> Bool = { false }
  /// Receives why an attempt failed that is made again, and nil when the server replies.
  package var notice: @Sendable (ObjectError.Hindrance?) -> Void = { _ in }
  /// The clock of this machine, in seconds since 1970.
  package var clock: @Sendable () -> Int64 = { SystemClock.wall().seconds }

  package init() {}
}

/// A store behind the S3 interface. Each request is tried again as long as that may help. A reply that was
/// lost after the server had done its work changes no result.
package final class S3Store: ObjectStore {
  package typealias Credentials = @Sendable (_ isRefused: Bool) throws(ObjectError) -> S3Credentials

  private struct State {
    var credentials: S3Credentials?
    /// Counts the credentials.
    var generation = 0
    /// The server's clock less that of this machine.
    var skew: Int64 = 0
    /// The server compares an ETag without its quotes, as Ceph does.
    var usesBareTags = false
  }

  private let address: S3Place
  private let server: RemoteServer
  private let lanes: RemoteLanes
  private let credentials: Credentials
  private let options: S3StoreOptions
  private let state = Mutex(State(), rank: .leaf)

  package var place: String { address.description }

  /// - Parameters:
  ///   - credentials: returns what signs the requests. It is called again, with true, if the server refuses
  ///     them.
  ///   - lane: makes a connection.
  package init(
    _ address: S3Place, endpoint: S3Endpoint, region: String,
    options: S3StoreOptions = S3StoreOptions(), credentials: @escaping Credentials,
    lane: @escaping @Sendable () throws(LaneFault) -> any RemoteLane
  ) {
    self.address = address
    server = RemoteServer(
      endpoint: endpoint, region: region, bucket: address.bucket,
      isBucketInHost: options.isBucketInHost && endpoint.hasName,
      stallSeconds: options.stallSeconds)
    lanes = RemoteLanes(options.connections, lane)
    self.credentials = credentials
    self.options = options
  }

  // MARK: The verbs

  @discardableResult
  package func save(
    _ name: String, _ bytes: [UInt8], _ condition: SaveCondition
  ) throws(ObjectError) -> ObjectVersion {
    try save(name, bytes, condition, digest: SHA256.hash(bytes))
  }

  /// `digest` is what the request states of the content. A trial sees each refusal.
  func save(
    _ name: String, _ bytes: [UInt8], _ condition: SaveCondition, digest: [UInt8],
    isTrial: Bool = false
  ) throws(ObjectError) -> ObjectVersion {
    let key = address.key(of: name)
    let command = RemoteCommand.save(key: key, spelled(condition), digest: digest)
    let outcome = try attempt(command, bytes)
    let mayBeOwn = outcome.isRepeated || condition == .absent && !isTrial
    switch outcome.reply.status {
    case 200...299:
      // A page of something on the way may have this status, too.
      guard let version = outcome.reply.version else { throw .failed("saved without an ETag") }
      return version
    case 404: throw .absent
    default: break
    }
    // An earlier attempt may have succeeded although its reply was lost, or something on the way sent the
    // request twice.
    if mayBeOwn, let version = try version(ofEqual: bytes, name) { return version }
    guard case .same(let known) = condition else { throw .exists }
    guard let facts = try stat(name) else { throw .absent }
    if facts.digest == digest, !isTrial { return facts.version }
    if facts.version != known || state.withLock({ $0.usesBareTags }) { throw .changed }
    state.withLock { $0.usesBareTags = true }
    return try save(name, bytes, condition, digest: digest, isTrial: isTrial)
  }

  private func spelled(_ condition: SaveCondition) -> SaveCondition {
    guard case .same(let version) = condition, state.withLock({ $0.usesBareTags }) else {
      return condition
    }
    return .same(ObjectVersion(version.text.filter { $0 != "\"" }))
  }

  /// The version of an object with just this content; nil if there is none.
  func version(ofEqual bytes: [UInt8], _ name: String) throws(ObjectError) -> ObjectVersion? {
    do throws(ObjectError) {
      let found = try load(name, nil, unless: nil)
      return found?.bytes == bytes ? found?.version : nil
    } catch {
      if error == .absent { return nil }
      throw error
    }
  }

  package func load(
    _ name: String, _ range: Range<Int64>?, unless known: ObjectVersion?
  ) throws(ObjectError) -> LoadedObject? {
    let key = address.key(of: name)
    for _ in 0..<S3Store.attempts {
      let outcome = try attempt(.load(key: key, range, unless: known), [])
      let (reply, bytes) = (outcome.reply, outcome.body)
      let version = reply.version ?? ObjectVersion("")
      switch reply.status {
      case 304: return nil
      case 404: throw .absent
      case 416: return LoadedObject(bytes: [], version: version)
      case 200, 206: break
      default: throw .failed("status \(reply.status)")
      }
      if isWhole(bytes, range, reply) { return LoadedObject(bytes: bytes, version: version) }
    }
    throw .damaged
  }

  /// True if all came, and as it was saved.
  private func isWhole(_ bytes: [UInt8], _ range: Range<Int64>?, _ reply: RemoteReply) -> Bool {
    guard let size = reply.size else { return range == nil }
    let wanted = (range ?? 0..<size).clamped(to: 0..<size)
    if bytes.count != wanted.count { return false }
    guard let digest = reply.digest, wanted.count == size else { return true }
    return SHA256.hash(bytes) == digest
  }

  package func stat(_ name: String) throws(ObjectError) -> ObjectFacts? {
    let key = address.key(of: name)
    let reply: RemoteReply
    do throws(ObjectError) { reply = try attempt(.stat(key: key), []).reply } catch {
      // The reply to a HEAD has no words that tell why. A request with a body does.
      guard case .refused = error else { throw error }
      _ = try attempt(.load(key: key, 0..<1, unless: nil), [])
      return try attempt(.stat(key: key), []).reply.facts
    }
    return try reply.facts
  }

  package func list(_ prefix: String, part: String?) throws(ObjectError) -> ObjectPage {
    let command = RemoteCommand.list(prefix: address.key(of: prefix), part: part)
    guard let page = try attempt(command, []).reply.page else { throw .failed("its listing") }
    let objects = page.objects.compactMap { object in
      address.name(of: object.name).map { name in
        ListedObject(name: name, size: object.size, version: object.version)
      }
    }
    return ObjectPage(objects: objects, next: page.next)
  }

  package func remove(_ name: String) throws(ObjectError) {
    _ = try attempt(.remove(key: address.key(of: name)), [])
  }

  /// A server that has replied to a save has the object for good.
  package func settle() {}

  // MARK: Attempts

  private struct Outcome {
    var reply: RemoteReply
    var body: [UInt8]
    /// True if there was an attempt before, of which the server may have done its part.
    var isRepeated: Bool
  }

  /// How often something else than the reply to a request is taken for a mishap.
  private static let attempts = 4
  private static let pauses: ClosedRange<Duration> = .milliseconds(100) ... .seconds(5)

  private func attempt(_ command: RemoteCommand, _ body: [UInt8]) throws(ObjectError) -> Outcome {
    let end = MonotonicTime.now + options.patience
    var pause = S3Store.pauses.lowerBound
    var (isRepeated, hasSetClock, hasRenewed) = (false, false, false)
    var others = 0
    while true {
      let hindrance: ObjectError.Hindrance
      var wasIdle = false
      if let (reply, content) = try exchange(command, body, &wasIdle) {
        switch S3Verdict(reply, command) {
        case .final:
          options.notice(nil)
          return Outcome(
            reply: reply, body: content, isRepeated: isRepeated || reply.mayBeRepeated)
        case .error(let error): throw error
        case .skewed where !hasSetClock:
          hasSetClock = true
          try setClock(reply.date)
          continue
        case .unknownCredentials(let code) where !hasRenewed:
          hasRenewed = true
          try renew(after: code)
          continue
        case .skewed: throw .refused(.clock)
        case .unknownCredentials(let code): throw .refused(.credentials(code))
        case .garbled:
          if isRepeated { throw .damaged }
          hindrance = .cut
        case .ofAnother:
          others += 1
          if others == S3Store.attempts { throw S3Verdict.error(of: command) }
          hindrance = .cut
        case .again(let reason): hindrance = reason
        }
      } else if wasIdle {
        // Its program may have ended long ago, which says nothing of the server. There are not many of them.
        isRepeated = true
        continue
      } else {
        hindrance = .cut
      }
      options.notice(hindrance)
      if MonotonicTime.now + pause > end { throw .unreachable(hindrance) }
      isRepeated = true
      try wait(pause * Double.random(in: 0.5...1))
      pause = min(pause * 2, S3Store.pauses.upperBound)
    }
  }

  /// nil if the lane broke. `wasIdle`: it was made for an earlier request.
  private func exchange(
    _ command: RemoteCommand, _ body: [UInt8], _ wasIdle: inout Bool
  ) throws(ObjectError) -> (RemoteReply, [UInt8])? {
    let (credentials, generation) = try currentCredentials()
    let time = options.clock() + state.withLock { $0.skew }
    do throws(LaneFault) {
      return try lanes.use(generation) { (lane, known) throws(LaneFault) in
        wasIdle = known != nil
        if known != generation {
          let begin = RemoteRequest(.begin(server, credentials), time: time)
          _ = try lane.exchange(begin, [], options.isStopped)
        }
        return try lane.exchange(RemoteRequest(command, time: time), body, options.isStopped)
      }
    } catch {
      switch error {
      case .stopped: throw .stopped
      case .program(let fault): throw .program(fault)
      case .broken: return nil
      }
    }
  }

  private func currentCredentials() throws(ObjectError) -> (S3Credentials, Int) {
    if let known = state.withLock({ state in state.credentials.map { ($0, state.generation) } }) {
      return known
    }
    let found = try credentials(false)
    return state.withLock { state in
      state.credentials = state.credentials ?? found
      return (state.credentials ?? found, state.generation)
    }
  }

  private func renew(after code: String) throws(ObjectError) {
    let refused = state.withLock { $0.credentials }
    let found = try credentials(true)
    if found == refused { throw .refused(.credentials(code)) }
    state.withLock { state in
      // Another thread may have been first.
      if state.credentials != refused { return }
      state.credentials = found
      state.generation += 1
    }
  }

  private func setClock(_ date: Int64?) throws(ObjectError) {
    guard let date else { throw .refused(.clock) }
    let skew = date.saturatingSubtract(options.clock())
    state.withLock { $0.skew = skew }
  }

  private func wait(_ pause: Duration) throws(ObjectError) {
    let end = MonotonicTime.now + pause
    while MonotonicTime.now < end {
      if options.isStopped() { throw .stopped }
      SystemClock.sleep(milliseconds: 50)
    }
  }
}

extension RemoteReply {
  /// nil if there is no such object.
  fileprivate var facts: ObjectFacts? {
    get throws(ObjectError) {
      if status == 404 { return nil }
      guard let size else { throw .failed("no Content-Length") }
      return ObjectFacts(size: size, version: version ?? ObjectVersion(""), digest: digest)
    }
  }
}
