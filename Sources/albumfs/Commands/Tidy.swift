import ArgumentParser
import ControlProtocol
import Posix

struct Tidy: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Move photos that lie directly in an album into its Photo, or into albums by date.",
    discussion: """
      A photo whose name exists there already stays where it is, and tidy names it. With --by-date, the \
      photos of one album move into albums YYYY-MM-DD below it, by their date of capture; photos without \
      one go by their name (IMG-20190505-WA0001.jpg), or else by the time of their file. What belongs to a \
      photo moves with it: sidecars, the film of a Live Photo, the JPEG of a raw picture, an edited twin.

        albumfs tidy ~/Album/Trip --dry-run
        albumfs tidy ~/Album/Phone --by-date
        albumfs tidy --all
        albumfs tidy ~/Album --undo
      """)

  @Argument(help: "An album, or with --all anything in the mount.", completion: .directory)
  var path: String?

  @Flag(help: "All albums of the mount; without PATH, of all your mounts.")
  var all = false

  @Flag(help: "Move the photos of the album into albums below it, one for each day.")
  var byDate = false

  @Flag(help: "Move nothing; print what would move.")
  var dryRun = false

  @Flag(help: "Move back what the last tidy moved, while the space stays mounted.")
  var undo = false

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if path == nil && !all { throw ValidationError("Give an album, or --all.") }
    if byDate && (all || undo) { throw ValidationError("--by-date needs one album.") }
    if undo && dryRun { throw ValidationError("Give --dry-run or --undo, not both.") }
  }

  func run() throws {
    if let path {
      let (mount, inside) = try MountPath.find(path)
      try tidy(mount, all ? nil : inside)
      return
    }
    let mounts = try MountPath.table().spaces.filter(\.isOurs)
    if mounts.isEmpty { output.say("You have no mounted space.") }
    for mount in mounts { try tidy(mount, nil) }
  }

  private func tidy(_ mount: MountEntry, _ album: String?) throws {
    if undo { return try undoLast(mount) }
    if dryRun { return try preview(mount, album) }
    let request = byDate ? ControlRequest.tidyByDate(album: album ?? "", preview: false) : nil
    let summary = try ControlClient(mount).ask(request ?? .tidy(album: album)).done()
    output.say("Moved \(counted(summary.count, "file")).")
    if summary.count > 0 {
      output.say(
        "To move \(summary.count == 1 ? "it" : "them") back: "
          + "albumfs tidy --undo \(path.map(ShellWord.quoted) ?? "--all") (until the space is unmounted)"
      )
    }
    try complain(summary.notes[...])
  }

  private func preview(_ mount: MountEntry, _ album: String?) throws {
    let request = byDate ? ControlRequest.tidyByDate(album: album ?? "", preview: true) : nil
    let summary = try ControlClient(mount).ask(request ?? .tidyPreview(album: album)).done()
    for photo in summary.notes.prefix(summary.count) { Terminal.result(photo.printable) }
    output.say(
      "Would move \(counted(summary.count, "file")) into \(byDate ? "albums by date" : "Photo").")
    try complain(summary.notes.dropFirst(summary.count))
  }

  private func undoLast(_ mount: MountEntry) throws {
    let summary = try ControlClient(mount).ask(.tidyUndo).done()
    output.say("Moved \(counted(summary.count, "file")) back.")
    try complain(summary.notes[...])
  }

  private func complain(_ notes: ArraySlice<String>) throws(Failure) {
    if !notes.isEmpty { throw Failure(.clash, notes.map(\.printable).joined(separator: "\n")) }
  }
}
