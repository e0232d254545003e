import ArgumentParser
import ControlProtocol

struct Compact: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Return the room of removed files to the disk at once.",
    discussion: """
      albumfs does that by itself while nobody uses the space. This command does it now, and a little more \
      thoroughly. Segments that are no longer needed go after the grace time of the mount (15 minutes; see \
      `albumfs mount --grace`). Ctrl-C stops the waiting; what was done stays done.

        albumfs compact ~/Album
      """)

  @OptionGroup var mount: MountArgument

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func run() throws {
    let client = try mount.connect()
    let bar = ProgressBar("Compacting", isShown: !output.quiet && !json)
    let reply = try client.ask(.compact, moved: { bar.show($0, of: $1) })
    bar.clear()
    guard case .compacted(let summary) = try reply.orThrow() else {
      throw Failure.unexpectedReply
    }
    if json {
      Terminal.result(json: summary)
    } else if !output.quiet {
      Terminal.result(Compact.text(summary))
    }
    if summary.unreadableSegments > 0 { throw Compact.damage(summary.unreadableSegments) }
  }

  static func text(_ summary: CompactionSummary) -> String {
    var lines = ["Freed \(SizeArgument.readable(summary.freed))."]
    if summary.waiting > 0 {
      lines.append(
        "\(SizeArgument.readable(summary.waiting)) more will be freed within "
          + "\(duration(summary.graceSeconds)).")
    }
    lines.append(
      "The space takes \(SizeArgument.readable(summary.taken)), its content "
        + "\(SizeArgument.readable(summary.living)) of that.")
    return lines.joined(separator: "\n")
  }

  private static func duration(_ seconds: Int64) -> String {
    seconds < 120
      ? counted(Int(seconds), "second") : counted(Int((seconds + 59) / 60), "minute")
  }

  private static func damage(_ segments: Int) -> Failure {
    Failure(
      .damaged,
      "\(counted(segments, "segment")) of the store cannot be read and stays as it is; "
        + "`albumfs check` names the files.")
  }
}
