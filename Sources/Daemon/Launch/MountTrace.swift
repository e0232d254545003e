import ControlProtocol
import Glibc
import Posix

/// What `albumfs mount --trace` asks for.
package struct TraceOptions: Codable, Sendable, Equatable {
  /// A part of albumfs whose events a user can watch.
  package enum Area: String, Codable, Sendable, CaseIterable {
    /// Requests of the kernel.
    case fuse
    /// Frames, barriers, checkpoints and rescues.
    case journal
    /// Segments that begin, are retired or removed, and the turns and moves of compaction.
    case compaction
    /// Photos that wait for a thumbnail, and what becomes of them.
    case thumbnails
  }

  package var areas: [Area]
  /// The file for the lines, an absolute path; nil: the daemon's log.
  package var file: String?
  /// The lines of requests have the names of files.
  package var showsNames: Bool

  package init(areas: [Area], file: String? = nil, showsNames: Bool = false) {
    self.areas = areas
    self.file = file
    self.showsNames = showsNames
  }
}

/// The trace of one mount; without options none, and then nobody is watched. No event has the content of
/// a file or a secret, and only those of requests have names, if the user wants them.
struct MountTrace: Sendable {
  private let trace: EventTrace?
  let fuse: EventTracer?
  let thumbnails: EventTracer?
  let journal: EventTracer?
  let compaction: EventTracer?

  /// Opens the file and starts the thread.
  init(_ options: TraceOptions?, _ log: DaemonLog) throws(Failure) {
    let sink = try options.map { options throws(Failure) in try MountTrace.sink(options, log) }
    do throws(Errno) {
      trace = try sink.map { sink throws(Errno) in try EventTrace(to: sink) }
    } catch {
      throw Failure(.other, "No thread can be started for the trace: \(error).")
    }
    let made = trace
    func tracer(_ area: TraceOptions.Area) -> EventTracer? {
      guard let options, options.areas.contains(area) else { return nil }
      return made?.area(area.rawValue, showsNames: options.showsNames)
    }
    fuse = tracer(.fuse)
    thumbnails = tracer(.thumbnails)
    journal = tracer(.journal)
    compaction = tracer(.compaction)
  }

  /// Writes the last lines.
  func stop() { trace?.stop() }

  private static func sink(_ options: TraceOptions, _ log: DaemonLog) throws(Failure)
    -> EventTrace.Sink
  {
    guard let path = options.file else { return { line throws(Errno) in try log.trace(line) } }
    let file = SharedDescriptor(try TraceFile.open(path))
    return { line throws(Errno) in try file.descriptor.writeAll(Array("\(line.printable)\n".utf8)) }
  }

  private final class SharedDescriptor: Sendable {
    let descriptor: FileDescriptor
    init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }
  }
}

/// The file of a trace. It shows how large a space is and when it is used, so nobody else may read it,
/// and it lies neither in the store, which others may copy, nor in the mount, which it would never let
/// rest.
enum TraceFile {
  /// Throws if a trace of this mount must not be there.
  static func check(_ path: String, store: String, mountPoint: String) throws(Failure) {
    for (directory, name) in [(store, "the store"), (mountPoint, "the mount point")]
    where lies(path, in: directory) {
      throw Failure(
        .usage, "\(path) lies in \(name). Choose a file for the trace outside of it.")
    }
  }

  /// Compares directories and not paths: one of them can have several paths.
  private static func lies(_ path: String, in directory: String) -> Bool {
    let target = try? PlainEntry(directory).file
    var place = PlainPath(path).parent
    while true {
      if place.bytes.elementsEqual(directory.utf8) { return true }
      if let target, (try? PlainEntry(place).file) == target { return true }
      if place.bytes.count <= 1 { return false }
      place = place.parent
    }
  }

  /// Appends to a file of an earlier trace.
  static func open(_ path: String) throws(Failure) -> FileDescriptor {
    do throws(Errno) {
      let file = try FileDescriptor(appendingTo: path)
      if try file.isPrivate { return file }
    } catch {
      throw Failure(.other, "\(path) cannot be opened for the trace: \(error).")
    }
    throw Failure(
      .other,
      "\(path) is not a plain file that only you may read. Remove it, or choose another file for the trace."
    )
  }
}
