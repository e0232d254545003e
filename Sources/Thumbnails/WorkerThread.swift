import AlbumModel
import FileKinds
internal import Glibc
import Logging
import Posix
import ThumbnailProtocol

/// One thread of a queue and its worker process. It takes a photo, checks that it is a picture or video, lets
/// the worker have its bytes, inspects the result and stores it.
///
/// @unchecked because everything but `bell` belongs to the thread that runs `run`.
final class WorkerThread: @unchecked Sendable {
  /// The current photo; its first bytes are in the buffer.
  private struct Held {
    var photo: PhotoVersion
    var kind: ImageKind
    var byteCount: Int
    var bufferedByteCount: Int
    /// True if it exceeded a first attempt.
    var isLong: Bool
    /// The least share of the processor for it: more than that of a worker which starved on it.
    var leastShare = ProcessorShare.leftover
  }

  /// The kind of attempts that a thread makes.
  enum Part {
    case first
    case long
    case videos
  }

  /// Rings when there may be work.
  let bell: Doorbell
  /// A program that copies photos makes no such pause between them.
  private static let pauseMilliseconds = CInt(20)
  /// A longer copy shares the processors with the first decode.
  private static let gatheringLimit = Duration.milliseconds(500)

  private let part: Part
  private let longAttempts: LongAttempts
  private let videoAttempts: VideoAttempts?
  private let stop: Doorbell
  private let source: any PhotoSource
  private let launch: WorkerLaunch
  private let availability: Availability
  private let precedence: CopyPrecedence
  private let logger: Logger
  private var state = WorkerState()
  private var worker: Worker?
  private var buffer: PictureBuffer?
  private var held: Held?
  private var isBusy = false

  init(
    _ part: Part, _ longAttempts: LongAttempts, _ videoAttempts: VideoAttempts?, bell: Doorbell,
    source: any PhotoSource, launch: WorkerLaunch, stop: Doorbell, availability: Availability,
    precedence: CopyPrecedence, logger: Logger
  ) {
    self.part = part
    self.longAttempts = longAttempts
    self.videoAttempts = videoAttempts
    self.bell = bell
    self.stop = stop
    self.source = source
    self.launch = launch
    self.availability = availability
    self.precedence = precedence
    self.logger = logger
  }

  /// Returns when the stop bell rings. Its photo then keeps waiting.
  func run() {
    while !isStopped(waitingUntil: .now) {
      bell.silence()
      // A worker that sends something without a request is not trusted any more.
      if worker?.hasSpoken == true {
        worker = nil
        state.lost(now: .now)
      }
      if held == nil {
        letCopiesGoFirst()
        held = takePicture()
      }
      announceLoad()
      dismissGreedyWorker()
      switch state.next(hasPicture: held != nil, now: .now) {
      case .start: start()
      case .serve: serve()
      case .end:
        worker = nil
        buffer = nil
      case .wait(let until):
        // While the thread is idle, no plaintext stays in memory.
        if part == .videos, let video = held { giveUp(video) }
        if held == nil { buffer?.wipe() }
        if !isStopped(waitingUntil: until), part == .first { letPhotosGather() }
      }
    }
    worker = nil
    buffer = nil
  }

  /// Ends an idle worker that has a greater share of the processor than the next picture may have.
  private func dismissGreedyWorker() {
    guard let held, let given = worker?.share, given > share(for: held) else { return }
    worker = nil
    state.dismissed()
  }

  private func share(for picture: Held) -> ProcessorShare {
    max(picture.leastShare, source.share(for: picture.photo))
  }

  /// Tells `longAttempts` whether this thread has a first attempt to make.
  private func announceLoad() {
    if part != .first || isBusy == (held != nil) { return }
    isBusy = held != nil
    if isBusy { longAttempts.becameBusy() } else { longAttempts.becameIdle() }
  }

  /// Copying comes first: a thread that was idle begins when no photo has come for a moment. So a short copy
  /// ends before the first decode, and many small files wake the thread once.
  private func letPhotosGather() {
    let end = MonotonicTime.now + WorkerThread.gatheringLimit
    var seen: Int
    repeat {
      seen = source.arrivals
      if isStoppedInPause() { return }
    } while source.arrivals != seen && MonotonicTime.now < end
  }

  private func letCopiesGoFirst() {
    while precedence.holds(isCopying: source.copiesGoFirst, now: .now) {
      if isStoppedInPause() { return }
    }
  }

  private func isStoppedInPause() -> Bool {
    var descriptor = pollfd(fd: stop.pollDescriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&descriptor, 1, WorkerThread.pauseMilliseconds) > 0
  }

  /// Waits for either bell, or for an unrequested message of the worker; nil: without a limit.
  private func isStopped(waitingUntil time: MonotonicTime?) -> Bool {
    var descriptors = [
      pollfd(fd: stop.pollDescriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: bell.pollDescriptor, events: Int16(POLLIN), revents: 0),
      pollfd(fd: worker?.pollDescriptor ?? -1, events: Int16(POLLIN), revents: 0),
    ]
    unsafe poll(&descriptors, 3, time?.pollTimeout(from: .now) ?? -1)
    return descriptors[0].revents != 0
  }
}

// MARK: - Taking a photo

extension WorkerThread {
  /// Takes the next photo that this thread's worker should decode. Fails those that are no pictures or too
  /// large, and hands over videos.
  private func takePicture() -> Held? {
    while let (photo, isLong) = takePhoto() {
      if isStopped(waitingUntil: .now) { return nil }
      guard let size = source.size(of: photo), let start = readStart(of: photo, size) else {
        continue
      }
      guard let kind = kind(bufferedByteCount: start) else {
        fail(photo, .notAPicture)
        continue
      }
      let isVideo = ImageKind.videos.contains(kind)
      if isVideo, part != .videos {
        if let videoAttempts { videoAttempts.add(photo) } else { fail(photo, .notAPicture) }
        continue
      }
      let limit = isVideo ? ThumbnailLimits.videoByteCount : ThumbnailLimits.pictureByteCount
      if size > Int64(limit) {
        fail(photo, .tooLarge)
        continue
      }
      return Held(
        photo: photo, kind: kind, byteCount: Int(size), bufferedByteCount: start, isLong: isLong)
    }
    return nil
  }

  private func takePhoto() -> (PhotoVersion, isLong: Bool)? {
    switch part {
    case .first: source.nextPhoto().map { ($0, false) }
    case .long: longAttempts.take().map { ($0, true) }
    case .videos: videoAttempts?.take().map { ($0.video, $0.isLong) }
    }
  }

  /// Without a worker, pictures wait, and videos do not: their program is optional.
  private func giveUp(_ video: Held) {
    fail(video.photo, .notAPicture)
    held = nil
    bell.ring()
  }

  private func kind(bufferedByteCount count: Int) -> ImageKind? {
    let length = min(count, ImageKind.sniffByteCount)
    return ImageKind(sniffing: unsafe Array(bufferBytes[..<length]))
  }

  /// Reads enough to detect the kind, and a good part of a small photo; nil if the photo has changed.
  private func readStart(of photo: PhotoVersion, _ size: Int64) -> Int? {
    let wanted = min(Int(clamping: size), 64 << 10)
    return fillBuffer(with: photo, at: 0, wanted) ? wanted : nil
  }

  /// Reads exactly `count` bytes. Returns false if the photo has changed, or if it ended early, in which
  /// case it failed here.
  private func fillBuffer(with photo: PhotoVersion, at offset: Int, _ count: Int) -> Bool {
    var filled = 0
    if buffer == nil { buffer = PictureBuffer() }
    buffer?.willUse(count)
    while filled < count {
      let target = unsafe UnsafeMutableRawBufferPointer(rebasing: bufferBytes[filled..<count])
      // The headroom of a later part is the end of the part before. A source may overwrite it.
      let clobbered = max(0, filled - ReadHeadroom.byteCount)..<filled
      let kept = unsafe Array(bufferBytes[clobbered])
      guard let got = unsafe source.read(photo, into: target, at: Int64(offset + filled)) else {
        return false
      }
      unsafe UnsafeMutableRawBufferPointer(rebasing: bufferBytes[clobbered]).copyBytes(from: kept)
      if got == 0 {
        fail(photo, .internal)
        return false
      }
      filled += got
    }
    return true
  }

  private var bufferBytes: UnsafeMutableRawBufferPointer {
    if buffer == nil { buffer = PictureBuffer() }
    return unsafe buffer!.bytes
  }
}

// MARK: - Serving it

extension WorkerThread {
  private func start() {
    let problem = startProblem()
    if problem == nil { state.started(now: .now) } else { state.startFailed(now: .now) }
    if isStopped(waitingUntil: .now) { return }
    if availability.set(problem), let problem {
      logger.warning("no thumbnails\(part == .videos ? " of videos" : ""): \(problem)")
    }
  }

  /// Starts a worker; returns why that failed, or nil.
  private func startProblem() -> WorkerFault? {
    let given = held.map { share(for: $0) } ?? .leftover
    let started: Worker
    do throws(Errno) {
      started = try Worker(launch, given, stop: stop)
    } catch {
      return .notStarted(program: launch.program, error)
    }
    let report: CellReport
    do throws(Worker.Failure) {
      report = try started.hello(until: startLimit(started.process, given))
    } catch {
      if error != .starved || held == nil { return .endedAtOnce(program: launch.program) }
      // This one ends before the next begins.
      _ = consume started
      held?.leastShare = given.next
      return startProblem()
    }
    guard report.hasSeccomp else { return .noSeccomp }
    if !report.hasLandlock {
      logger.debug("no Landlock in this kernel: seccomp alone confines the thumbnailer")
    }
    // Without a limit or a count, nobody would notice a worker that starts threads until the machine has
    // none left.
    let isCounted = ProcessLook.threads(of: started.process, in: launch.processes).count > 0
    if !report.boundsThreads && !isCounted {
      return .uncountedThreads(program: launch.program, processes: launch.processes)
    }
    worker = consume started
    return nil
  }

  /// A busy machine may delay the first message of a worker with a small share.
  private func startLimit(_ process: pid_t, _ given: ProcessorShare) -> Attempt {
    let (source, photo) = (source, held?.photo)
    return Attempt(
      process: process, allowance: launch.startDeadline, isWanted: { true },
      mayHaveMore: { photo.map { source.share(for: $0) > given } ?? false })
  }

  private func serve() {
    guard let picture = held else { return }
    var reply: ThumbnailReply.Content?
    let outcome: WorkerState.Outcome
    do throws(Worker.Failure) {
      reply = try ask(picture)
      outcome = reply == nil ? .abandoned : .answered
    } catch {
      switch error {
      case .died: outcome = .died
      case .timedOut: outcome = .timedOut
      case .abandoned: outcome = .abandoned
      case .starved: outcome = .starved
      // The process ends with the thread, and the photo waits for the next mount.
      case .stopped: return
      }
    }
    buffer?.wipe()
    held = nil
    let starvedShare = outcome == .starved ? worker?.share : nil
    let verdict = state.ended(outcome, now: .now)
    if state.phase == .absent { worker = nil }
    switch verdict {
    case .done: if let reply { deliver(picture.photo, reply) }
    case .fail(.timedOut) where !picture.isLong: postpone(picture.photo)
    case .fail(let failure): fail(picture.photo, failure)
    case .retry: retry(picture, afterStarvingWith: starvedShare)
    }
  }

  private func postpone(_ photo: PhotoVersion) {
    if part == .videos { videoAttempts?.postpone(photo) } else { longAttempts.add(photo) }
  }

  /// Returns nil if the photo changed meanwhile.
  private func ask(_ picture: Held) throws(Worker.Failure) -> ThumbnailReply.Content? {
    let (source, given) = (source, worker?.share ?? .ordinary)
    let attempt = Attempt(
      process: worker?.process ?? 0,
      allowance: picture.isLong
        ? launch.longAllowance : min(launch.firstAllowance, launch.longAllowance),
      isWanted: { source.size(of: picture.photo) != nil },
      mayHaveMore: { source.share(for: picture.photo) > given })
    let limits = ThumbnailLimits.edge
    let edge = min(
      max(UInt32(clamping: source.edge(of: picture.photo)), limits.lowerBound), limits.upperBound)
    // The random id prevents a worker from replying before it gets the request.
    let byteCount = UInt64(picture.byteCount)
    let request = ThumbnailRequest(
      id: .random(in: 1...UInt64.max),
      work: part == .videos
        ? .poster(edge: edge, videoByteCount: byteCount, rotation: picture.photo.rotation)
        : .thumbnail(edge: edge, pictureByteCount: byteCount, rotation: picture.photo.rotation))
    try worker!.send(request, until: attempt)
    let reply =
      part == .videos
      ? try sendRanges(of: picture, request.id, attempt) : try stream(picture, attempt)
    guard let reply else { return nil }
    if reply.id != request.id || hasWorkerSpoken { throw .died }
    try inspect(reply.content, of: picture, edge: Int(edge))
    return reply.content
  }

  /// Sends the whole picture, and returns the reply; nil if the photo changed.
  private func stream(_ picture: Held, _ attempt: Attempt) throws(Worker.Failure) -> ThumbnailReply?
  {
    var offset = 0
    var buffered = picture.bufferedByteCount
    while true {
      // It must not reply before it has the whole picture.
      if hasWorkerSpoken { throw .died }
      try unsafe worker!.send(
        UnsafeRawBufferPointer(rebasing: bufferBytes[..<buffered]), until: attempt)
      offset += buffered
      if offset == picture.byteCount { break }
      buffered = min(picture.byteCount - offset, PictureBuffer.byteCount)
      if !fillBuffer(with: picture.photo, at: offset, buffered) { return nil }
    }
    return try worker!.receive(until: attempt)
  }

  /// Sends the ranges of a video that the worker asks for, and returns the reply after them; nil if the video
  /// changed. The worker must ask for one range at a time, and keep to its budget.
  private func sendRanges(of video: Held, _ id: UInt64, _ attempt: Attempt) throws(Worker.Failure)
    -> ThumbnailReply?
  {
    var budget = RangeBudget(videoByteCount: UInt64(video.byteCount))
    while true {
      let reply = try worker!.receive(until: attempt)
      guard case .read(let range) = reply.content else { return reply }
      guard reply.id == id, budget.charge(range), !hasWorkerSpoken else { throw .died }
      let length = Int(range.length)
      if !fillBuffer(with: video.photo, at: Int(range.offset), length) { return nil }
      try attempt.resume()
      try unsafe worker!.send(
        UnsafeRawBufferPointer(rebasing: bufferBytes[..<length]), until: attempt)
    }
  }

  private var hasWorkerSpoken: Bool { worker?.hasSpoken ?? true }

  /// Rejects anything but a thumbnail, and with it the worker that sent it.
  private func inspect(_ content: ThumbnailReply.Content, of picture: Held, edge: Int)
    throws(Worker.Failure)
  {
    switch content {
    case .failure: return
    case .hello, .probe, .read: throw .died
    case .thumbnail(let format, let bytes, _):
      do throws(ThumbnailInspection.Fault) {
        try ThumbnailInspection.inspect(bytes, format: format, original: picture.kind, edge: edge)
      } catch {
        let inode = picture.photo.inode.rawValue
        logger.debug("the worker's result for inode \(inode) is no thumbnail: \(error)")
        throw .died
      }
    }
  }

  /// Reads the start of the picture again, because later parts have overwritten the buffer.
  private func retry(_ picture: Held, afterStarvingWith share: ProcessorShare?) {
    guard let start = readStart(of: picture.photo, Int64(picture.byteCount)) else { return }
    var again = picture
    again.bufferedByteCount = start
    // So no picture is begun anew more often than there are shares.
    if let share { again.leastShare = share.next }
    held = again
  }

  private func deliver(_ photo: PhotoVersion, _ content: ThumbnailReply.Content) {
    switch content {
    case .thumbnail(_, let bytes, let facts):
      source.finish(photo, thumbnail: bytes, facts: facts)
    case .failure(.notAPicture, _): fail(photo, .notAPicture)
    case .failure(.tooLarge, _): fail(photo, .tooLarge)
    case .failure(.damaged, _): fail(photo, .damaged)
    case .failure(.internal, _), .hello, .probe, .read: fail(photo, .internal)
    }
  }

  private func fail(_ photo: PhotoVersion, _ failure: ThumbnailFailure) {
    logger.debug("no thumbnail for inode \(photo.inode.rawValue): \(failure)")
    source.fail(photo, reason: failure)
  }
}
