import ArgumentParser
import ControlProtocol
import Daemon

/// Options of `albumfs mount` for a person who wants to see what the mount does.
struct WatchOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      """
      Write one line for each event of these areas, separated by commas: fuse, journal, compaction, \
      thumbnails. The lines go to standard error with --foreground, otherwise to the system log.
      """, valueName: "areas"))
  var trace: TraceAreas?

  @Option(
    help: ArgumentHelp(
      "Append the lines of --trace to this file, which only you may read.", valueName: "file"),
    completion: .file())
  var traceFile: String?

  @Flag(help: "The lines of --trace show the names of files.")
  var traceNames = false

  func validate() throws {
    if trace == nil, traceFile != nil || traceNames {
      throw ValidationError(
        "--trace-file and --trace-names say how --trace writes. Add --trace and its areas, such as "
          + "--trace fuse,journal.")
    }
  }

  /// True if only the daemon's log is left for names.
  var namesGoToTheSystemLog: Bool { traceNames && traceFile == nil }

  /// Where the lines go is an absolute path for the daemon.
  var options: TraceOptions? {
    trace.map { trace in
      TraceOptions(
        areas: trace.areas, file: traceFile.map(MountPath.resolve), showsNames: traceNames)
    }
  }
}

/// Some areas, as a user types them: `fuse,journal`.
struct TraceAreas: ExpressibleByArgument {
  let areas: [TraceOptions.Area]

  init?(argument: String) {
    let words = argument.split(separator: ",", omittingEmptySubsequences: false)
    areas = words.compactMap { TraceOptions.Area(rawValue: String($0)) }
    if areas.count != words.count { return nil }
  }
}
