internal import AlbumModel

/// Writes down what happens in a mount, one line for each event, for a person who watches it.
///
/// A caller never waits for the place where the lines go: it puts the event into a bounded buffer, and a
/// thread of the trace writes it. When the buffer is full, the trace drops events, and says how many. Any
/// thread.
package final class EventTrace: Sendable {
  /// Writes one line, which has no newline. Only the trace's thread calls it.
  package typealias Sink = @Sendable (_ line: String) throws(Errno) -> Void

  /// The greatest number of events that wait to be written.
  package static let limit = 16_384
  /// How long `stop` waits for the sink.
  private static let patience = Duration.seconds(5)

  private struct Event {
    let time: Timestamp
    let area: String
    let what: String
    let duration: Duration?
  }

  private struct State {
    var events: [Event] = []
    /// Dropped since the last line about that.
    var lost = 0
    var isStopping = false
    var hasEnded = false
  }

  private let state = Monitor(State(), rank: .leaf)
  private let sink: Sink

  /// Starts the thread.
  package init(to sink: @escaping Sink) throws(Errno) {
    self.sink = sink
    try PosixThread(name: "trace") { self.run() }.detach()
  }

  /// The events of one area, such as the journal. `showsNames`: they may have names of files.
  package func area(_ name: String, showsNames: Bool = false) -> EventTracer {
    EventTracer(trace: self, area: name, showsNames: showsNames)
  }

  fileprivate func record(_ area: String, _ what: String, _ duration: Duration?) {
    let event = Event(time: SystemClock.wall(), area: area, what: what, duration: duration)
    let wasEmpty = state.withLock { state in
      if state.events.count >= EventTrace.limit {
        state.lost += 1
        return false
      }
      state.events.append(event)
      return state.events.count == 1
    }
    if wasEmpty { state.notifyAll() }
  }

  /// Ends the trace, after the last event is written. Gives up on a sink that takes nothing for 5 seconds.
  package func stop() {
    state.withLock { $0.isStopping = true }
    state.notifyAll()
    _ = state.waiting(until: .now + EventTrace.patience) { $0.hasEnded ? () : nil }
  }

  private func run() {
    while true {
      let (events, lost, isLast) = state.waiting { state -> ([Event], Int, Bool)? in
        if state.events.isEmpty, !state.isStopping { return nil }
        defer { (state.events, state.lost) = ([], 0) }
        return (state.events, state.lost, state.isStopping)
      }
      write(events, lost)
      if isLast { break }
    }
    state.withLock { $0.hasEnded = true }
    state.notifyAll()
  }

  private func write(_ events: [Event], _ lost: Int) {
    var lost = lost
    for event in events {
      do throws(Errno) { try sink(EventTrace.line(event)) } catch { lost += 1 }
    }
    if lost == 0 { return }
    let loss = Event(
      time: SystemClock.wall(), area: "trace", what: "lost events=\(lost)", duration: nil)
    do throws(Errno) { try sink(EventTrace.line(loss)) } catch {
      // The sink is full or broken. The next line that it takes says how many are missing.
      state.withLock { $0.lost += lost }
    }
  }

  private static func line(_ event: Event) -> String {
    let duration = event.duration.map { " us=\($0.microseconds)" } ?? ""
    return "\(SystemClock.utc(event.time)) \(event.area) \(event.what)\(duration)"
  }
}

/// Takes the events of one area. Where nobody watches there is none, and an event costs one branch:
/// `tracer?.record("…")` makes no text.
package struct EventTracer: Sendable {
  private let trace: EventTrace
  private let area: String
  /// Events may have the names of files.
  package let showsNames: Bool

  fileprivate init(trace: EventTrace, area: String, showsNames: Bool) {
    self.trace = trace
    self.area = area
    self.showsNames = showsNames
  }

  /// The beginning of what `record` measures.
  package var now: MonotonicTime { .now }

  /// Records an event that has just happened. `what` is one word and then `key=value`; with `since` the event
  /// has the time that it took.
  package func record(_ what: String, since begin: MonotonicTime? = nil) {
    trace.record(area, what, begin.map { .now - $0 })
  }

  /// A name for `record`, in quotes. Escapes what would end the line or the quotes, and bytes that are not
  /// UTF-8.
  package static func quoted(_ name: some Sequence<UInt8>) -> String {
    let bytes = Array(name)
    let isText = String(validating: bytes, as: UTF8.self) != nil
    var shown: [UInt8] = [UInt8(ascii: "\"")]
    for byte in bytes {
      let isPlain = (0x20..<0x7F).contains(byte) || isText && byte >= 0x80
      if isPlain, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") {
        shown.append(byte)
      } else {
        shown += "\\x\(byte < 16 ? "0" : "")\(String(byte, radix: 16, uppercase: true))".utf8
      }
    }
    return String(decoding: shown + [UInt8(ascii: "\"")], as: UTF8.self)
  }
}
