internal import CFreshMemory
internal import CLinux
package import FileKinds
internal import Glibc
package import ThumbnailProtocol

/// The part that all programs in a cell share. Only albumfs starts them. They hold no keys and see no names.
///
/// The order matters: the program loads its libraries, enters the cell, and only then reads the first byte of
/// a picture. None finds data of the one before, because all memory is zero when it is handed out
/// (CFreshMemory).
package enum CellProgram {
  /// Serves requests until the daemon closes the channel; then ends the process.
  ///
  /// - Parameters:
  ///   - load: loads all that the program may need later, because the cell cannot open files, and leaves the
  ///     process with one thread. Returns the kinds that it can decode; nil if it cannot work.
  ///   - answer: makes the reply to a request for a thumbnail; nil if the daemon is gone.
  package static func run(
    loading load: () -> Set<ImageKind>?,
    answering answer: (ThumbnailRequest, CellContext) -> ThumbnailReply.Content?
  ) -> Never {
    let arguments = Arguments(CommandLine.arguments.dropFirst())
    let channel = Channel()
    cfreshmemory_begin()
    _ = clearenv()
    clinux_close_from(UInt32(Channel.descriptor) + 1)
    clinux_limit_arenas(2)
    guard let readable = load() else { exit(1) }
    let protection = Cell.enter(arguments.bounds)
    let hello = CellReport(
      hasLandlock: protection.hasLandlock, hasSeccomp: protection.hasSeccomp,
      boundsThreads: protection.boundsThreads, readable: readable)
    guard channel.send(ThumbnailReply(id: 0, content: .hello(hello))), protection.hasSeccomp else {
      exit(1)
    }
    let context = CellContext(channel: channel, arguments: arguments, readable: readable)
    while let request = channel.receive() {
      guard let content = content(for: request, context, answer),
        channel.send(.init(id: request.id, content: content))
      else { break }
    }
    exit(0)
  }

  private static func content(
    for request: ThumbnailRequest, _ context: CellContext,
    _ answer: (ThumbnailRequest, CellContext) -> ThumbnailReply.Content?
  ) -> ThumbnailReply.Content? {
    if request.work == .probe { return .probe(Cell.probe()) }
    Cell.beginPicture(context.arguments.bounds)
    cfreshmemory_clear_stack()
    return answer(request, context)
  }
}

/// The connection and the limits of a program in its cell.
package struct CellContext {
  package let channel: Channel
  package let arguments: Arguments
  /// The kinds that it can decode.
  package let readable: Set<ImageKind>
}

/// The command line: `--memory BYTES`, `--processor-seconds S`, `--share N`, `--mark`, and for tests
/// `--allow-misbehaviour`, `--hide-landlock`, `--hide-namespaces`. Ignores anything else, because only
/// albumfs starts these programs.
package struct Arguments {
  var bounds = Cell.Bounds(memory: 2 << 30, processorSeconds: 120)
  package var allowsMisbehaviour = false
  /// Thumbnails of videos get a mark.
  package var marksVideos = false

  init(_ words: ArraySlice<String>) {
    var words = words
    while let word = words.popFirst() {
      switch word {
      case "--memory":
        if let bytes = words.popFirst().flatMap(UInt64.init) { bounds.memory = bytes }
      case "--processor-seconds":
        if let seconds = words.popFirst().flatMap(UInt64.init) { bounds.processorSeconds = seconds }
      case "--allow-misbehaviour": allowsMisbehaviour = true
      case "--hide-landlock": bounds.hidesLandlock = true
      case "--hide-namespaces": bounds.hidesNamespaces = true
      case "--share":
        if let share = words.popFirst().flatMap(UInt8.init).flatMap(ProcessorShare.init) {
          bounds.share = share
        }
      case "--mark": marksVideos = true
      default: break
      }
    }
  }
}
