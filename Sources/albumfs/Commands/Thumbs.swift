import ArgumentParser
import ControlProtocol

struct Thumbs: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Make thumbnails again.",
    discussion: """
      Of the photos at and under PATH. Returns at once; `albumfs sync` waits for them. What you \
      put into Thumb yourself stays.

        albumfs thumbs ~/Album --failed
        albumfs thumbs ~/Album/Trip --all
      """)

  @Argument(help: "Anything in the mount.", completion: .directory)
  var path: String

  @Flag(
    exclusivity: .exclusive,
    help: "Which: those given up, all that are not there, or every one.")
  var which: Choice = .missing

  enum Choice: EnumerableFlag {
    case failed, missing, all

    static func help(for value: Choice) -> ArgumentHelp? {
      switch value {
      case .failed: "Those that could not be made."
      case .missing: "All that are not there, removed and failed ones."
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
