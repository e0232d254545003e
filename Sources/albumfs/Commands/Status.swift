import AlbumModel
import ArgumentParser
import ControlProtocol
import Posix

struct Status: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the state of a mounted space: photos, thumbnails, what is on disk.",
    discussion: """
        albumfs status ~/Album
        albumfs status ~/Album --json
      """)

  @OptionGroup var mount: MountArgument

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var output: OutputOptions

  func run() throws {
    let client = try mount.connect()
    guard case .status(let status) = try client.ask(.status).orThrow() else {
      throw Failure.unexpectedReply
    }
    if json {
      Terminal.result(json: status)
    } else {
      Terminal.result(Status.text(status, verbose: output.verbose))
    }
  }

  static func text(_ status: MountStatus, verbose: Bool) -> String {
    var lines = [
      "Store:       \(UserConfiguration.abbreviated(status.store).printable)",
      "Mounted on:  \(UserConfiguration.abbreviated(status.mountPoint).printable) (process \(status.pid))",
      "Holds:       \(contents(status)) in \(counted(status.albums, "album"))",
      "Size:        \(size(status.bytes))",
      "Thumbnails:  \(thumbnails(status.thumbnails))",
    ]
    let shown = status.thumbnails.failures.prefix(verbose ? .max : 20)
    lines += shown.map { "  \($0.path.printable): \($0.reason)" }
    let listed = shown.count
    if status.thumbnails.failed > listed {
      lines.append("  and \(status.thumbnails.failed - listed) more")
    }
    if let deleted = status.deleted, let line = Status.deleted(deleted) {
      lines.append("Deleted:     \(line)")
    }
    if let burst = status.deleted?.burst {
      lines.append("Burst:       \(Status.text(burst, status.mountPoint))")
    }
    lines.append(
      "On disk:     "
        + (status.lastBarrier.map {
          "everything up to \(SystemClock.localTime(seconds: Int64(saturating: $0)))"
        } ?? "nothing new"))
    if let remote = status.remote { lines.append("Remote:      \(Status.text(remote))") }
    lines.append(
      "Writable:    " + (status.readOnly ? "no: \(status.readOnlyReason ?? "read-only")" : "yes"))
    if let following = status.following {
      lines.append(
        "Follows:     the writer, as of \(SystemClock.localTime(seconds: Int64(saturating: following.lastLook)))"
          + (following.problem.map { "; since then: \($0)" } ?? ""))
    }
    if let outage = status.outage {
      lines.append(
        "Outage:      the store has not responded since "
          + "\(SystemClock.localTime(seconds: Int64(saturating: outage.since))) (\(outage.reason)); "
          + "what is written waits until it does")
    }
    if let shortage = status.shortage {
      let isHeld = status.deleted.map { $0.bytes > 0 } ?? false
      lines.append(
        "Room:        none: \(shortage)"
          + (isHeld ? "; `albumfs deleted purge` gives up deleted files" : ""))
    }
    if status.unreadableSegments > 0 {
      lines.append(
        "Damaged:     \(counted(status.unreadableSegments, "segment")) of the store cannot be read; "
          + "`albumfs check` names the files")
    }
    if let transport = status.transport {
      lines.append("Requests:    \(requests(transport, status))")
    }
    for line in status.recovery { lines.append("Recovered:   \(line)") }
    if verbose {
      if let cipher = status.cipher { lines.append("Cipher:      \(cipher)") }
      lines += status.messages.map { "Message:     \($0)" }
    }
    return lines.joined(separator: "\n")
  }

  private static func text(_ remote: MountStatus.Remote) -> String {
    let until = remote.until.map {
      "everything up to \(SystemClock.localTime(seconds: Int64(saturating: $0)))"
    }
    let left = remote.unsentBytes > 0 ? "\(SizeArgument.readable(remote.unsentBytes)) to go" : nil
    let known = [until, left].compactMap { $0 }
    return (known.isEmpty ? "nothing new" : known.joined(separator: ", "))
      + (remote.problem.map { "; sending fails: \($0)" } ?? "")
  }

  private static func contents(_ status: MountStatus) -> String {
    var parts = [counted(status.photos, "photo")]
    if let videos = status.videos, videos > 0 { parts.append(counted(videos, "video")) }
    if let others = status.otherFiles, others > 0 { parts.append(counted(others, "other file")) }
    if let made = status.thumbnails.made { parts.append(counted(made, "thumbnail")) }
    return parts.joined(separator: ", ")
  }

  private static func requests(_ transport: String, _ status: MountStatus) -> String {
    if transport == "uring" { return "over io_uring" }
    return "over /dev/fuse" + (status.transportReason.map { "; \($0)" } ?? "")
  }

  private static func size(_ bytes: Int64) -> String {
    bytes < 1024 ? "\(bytes) bytes" : "\(SizeArgument.readable(bytes)) (\(bytes) bytes)"
  }

  /// What `albumfs deleted restore` brings back; nil if there is nothing to say.
  private static func deleted(_ deleted: MountStatus.Deleted) -> String? {
    let snapshots = Status.snapshots(deleted)
    if deleted.files == 0, snapshots == nil {
      return deleted.settings.keeps ? nil : "nothing is kept"
    }
    var parts = ["\(counted(deleted.files, "file")), \(SizeArgument.readable(deleted.bytes))"]
    if let seconds = deleted.oldestSeconds {
      parts.append("the oldest for \(counted(Int(seconds / 86_400), "day"))")
    }
    if let snapshots { parts.append(snapshots) }
    if deleted.bytesGivenUp > 0 {
      parts.append("\(SizeArgument.readable(deleted.bytesGivenUp)) go when room is needed")
    }
    return parts.joined(separator: "; ")
  }

  private static func snapshots(_ deleted: MountStatus.Deleted) -> String? {
    guard let count = deleted.snapshots, count > 0 else { return nil }
    let bytes = deleted.snapshotBytes ?? 0
    return counted(count, "snapshot")
      + (bytes > 0 ? " with \(SizeArgument.readable(bytes)) that only they show" : "")
  }

  /// Names a disaster and the command that takes it back.
  static func text(_ burst: MountStatus.Deleted.Burst, _ mountPoint: String) -> String {
    let (first, last) = (
      SystemClock.localTime(seconds: burst.first), SystemClock.localTime(seconds: burst.last)
    )
    let path = ShellWord.quoted(mountPoint)
    return
      "\(counted(burst.files, "file")) went or were overwritten from \(first) to \(last). To bring them "
      + "back: albumfs deleted restore \(path) --since \(first.replacing(" ", with: "T"))"
  }

  private static func thumbnails(_ thumbnails: MountStatus.Thumbnails) -> String {
    if let reason = thumbnails.disabled { return "none are made: \(reason)" }
    var parts: [String] = []
    if thumbnails.pending > 0 { parts.append("\(thumbnails.pending) being made") }
    if thumbnails.failed > 0 { parts.append("\(thumbnails.failed) could not be made") }
    if parts.isEmpty { parts.append("all made") }
    if let unsupported = thumbnails.unsupported, unsupported > 0 {
      parts.append("none for \(counted(unsupported, "file")) of other kinds")
    }
    if let reason = thumbnails.noneOfVideos { parts.append("none of videos: \(reason)") }
    return parts.joined(separator: ", ")
  }
}
