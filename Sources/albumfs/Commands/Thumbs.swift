import ArgumentParser
import ControlProtocol

struct Thumbs: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make thumbnails again.",
    discussion: """
      Makes thumbnails of the photos at and below PATH, which may be a photo or a thumbnail, too. Returns at \
      once; `albumfs sync` waits for them. Files that you put into Thumb yourself stay.

        albumfs thumbs ~/Album --failed
        albumfs thumbs ~/Album/Trip/Photo/IMG_0001.jpg --all
      """)

  @Argument(help: "The mount point or anything below it.", completion: .directory)
  var path: String

  @Flag(
    exclusivity: .exclusive,
    help: "Which thumbnails: failed ones, all that are missing, or every one.")
  var which: Choice = .missing

  enum Choice: EnumerableFlag {
    case failed, missing, all

    static func help(for value: Choice) -> ArgumentHelp? {
      switch value {
      case .failed: "Those that failed, as status counts them."
      case .missing:
        """
        All that are missing: removed and failed ones, and those of files that were no picture. Also those \
        that an older albumfs made, because it did not keep dates and dimensions of photos.
        """
      case .all: "Every one."
      }
    }
  }

  @OptionGroup var output: OutputOptions

  func run() throws {
    let (mount, inside) = try MountPath.find(path)
    let client = try ControlClient(mount)
    let summary = try client.ask(.thumbnails(under: inside, which: which.requested)).done()
    for note in summary.notes { output.say(note) }
    output.say("Making \(counted(summary.count, "thumbnail")).")
  }
}

extension Thumbs.Choice {
  var requested: ThumbnailSelection {
    switch self {
    case .failed: .failed
    case .missing: .missing
    case .all: .all
    }
  }
}
