import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumStore
import ArgumentParser
import ControlProtocol
import Daemon

struct ChaffCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "chaff",
    abstract: "Add random data that no space owns; show how common such data is.",
    discussion: """
      Segments that none of your passwords explains may be another space, or chaff: random data that no \
      space owns. Every store is born with some chaff, and sessions that write add more. Nothing \
      distinguishes chaff from another space's segments, so albumfs never removes any.
      """,
    subcommands: [ChaffAdd.self, ChaffStatus.self])
}

struct ChaffAdd: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Add chaff. Needs no password.",
    discussion: """
      Adds whole segments of random bytes, at any time, mounted or not. They stay for ever, because \
      nothing distinguishes them from another space's. Ctrl-C stops; what was added by then stays.

        albumfs chaff add ~/Album.store 2G
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @Argument(help: "How much, such as 500M or 2G; rounded up to whole segments.")
  var size: SizeArgument

  @OptionGroup var output: OutputOptions

  func validate() throws {
    if size.bytes == 0 { throw ValidationError("The size must not be 0.") }
  }

  func run() throws {
    let opened = try StoreCommands.openToChange(store)
    let segment = Int64(opened.configuration.segmentSize)
    let count = (size.bytes - 1) / segment + 1
    let available = try StoreCommands.reporting { () throws(StoreError) in
      try opened.availableBytes()
    }
    try ChaffRoom.require(count, segment, available)
    let bar = ProgressBar("Writing chaff", isShown: !output.quiet)
    try StoreCommands.reporting { () throws(StoreError) in
      defer { bar.clear() }
      try Chaff.add(bytes: size.bytes, to: opened) { bar.show($0, of: count * segment) }
    }
    StoreCommands.warn(of: opened)
    output.say(
      "Added \(counted(Int(count), "segment")), \(SizeArgument.readable(count * segment)).")
  }
}

struct ChaffStatus: PasswordCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract: "Show how many segments there are, and how common unexplained ones are.",
    discussion: """
      Shows what share of stores of this size holds as much chaff, from what they are born with and what \
      sessions add. With a password it also counts the segments that its space explains.

        albumfs chaff status ~/Album.store
        albumfs chaff status ~/Album.store --ask-password
        albumfs chaff status ~/Album.store --sessions 100
      """)

  @Argument(help: "The store's directory.", completion: .directory)
  var store: String

  @Option(
    help: ArgumentHelp(
      """
      In how many sessions the store was written to. The default is 1 without a password, because a store \
      does not show that; with a password it is the number of sessions that made the space's segments.
      """,
      valueName: "n"))
  var sessions: Int?

  @Flag(help: "Ask for a password, and count the segments that its space explains.")
  var askPassword = false

  @Flag(help: "Print JSON.")
  var json = false

  @OptionGroup var password: PasswordOptions
  @OptionGroup var output: OutputOptions

  private struct Description: Encodable {
    struct Share: Encodable {
      var segments: Int
      var bytes: Int64
      /// From 0 to 1.
      var share: Double
    }
    var version = 1
    var segmentSize: Int
    var segments: Int
    var sessions: Int
    var explained: Int?
    var unexplained: Share?
    var shares: [Share]
  }

  func validate() throws {
    if let sessions, !(0...1_000_000).contains(sessions) {
      throw ValidationError("--sessions takes 0 to 1000000.")
    }
  }

  func run() throws {
    ProcessSetup.protectMemory()
    let opened = try StoreCommands.open(store)
    let description = try describe(opened)
    StoreCommands.warn(of: opened)
    if json { Terminal.result(json: description) } else { show(description) }
  }

  private func describe(_ opened: Store) throws -> Description {
    let isAsked = askPassword || password.isGiven
    let keys =
      isAsked ? try unlock(opened) : nil
    let (count, age, odds) = try StoreCommands.reporting { () throws(StoreError) in
      let count = try opened.countSegments(of: keys)
      let age = sessions ?? count.sessions ?? 1
      return (count, age, try opened.chaffOdds(segments: count.all, sessions: age))
    }
    let size = opened.configuration.segmentSize
    let share = { (segments: Int) in
      Description.Share(
        segments: segments, bytes: Int64(segments * size), share: odds.share(atLeast: segments))
    }
    let doublings = (0..<40).map { 1 << $0 }.prefix { $0 <= count.all }
    return Description(
      segmentSize: size, segments: count.all, sessions: age, explained: count.own,
      unexplained: count.own.map { share(count.all - $0) }, shares: doublings.map(share))
  }

  private func unlock(_ opened: Store) throws -> SpaceKeys {
    let secret = try password.ask(for: opened)
    return try StoreCommands.reporting { () throws(StoreError) in
      try opened.unlock(password: secret)
    }
  }

  private func show(_ description: Description) {
    let size = Int64(description.segmentSize)
    Terminal.result(
      "Segments:     \(description.segments), "
        + SizeArgument.readable(Int64(description.segments) * size))
    if let explained = description.explained, let rest = description.unexplained {
      Terminal.result("Explained:    \(explained) by the space of this password")
      Terminal.result(
        "Unexplained:  \(rest.segments), \(SizeArgument.readable(rest.bytes)): "
          + "\(ChaffStatus.percent(rest.share)) of such stores hold as much or more")
    }
    Terminal.result(
      "Share of stores of this size that hold as much chaff or more, after "
        + "\(counted(description.sessions, "session")) that wrote to them:")
    for share in description.shares {
      let segments = counted(share.segments, "segment")
      let padding = String(repeating: " ", count: max(1, 18 - segments.count))
      let bytes = SizeArgument.readable(share.bytes)
      let gap = String(repeating: " ", count: max(1, 14 - bytes.count))
      Terminal.result("  \(segments)\(padding)\(bytes)\(gap)\(ChaffStatus.percent(share.share))")
    }
  }

  /// `42 %`, `4.2 %`, `0.42 %`, `less than 0.01 %`.
  static func percent(_ share: Double) -> String {
    let hundredths = Int((share * 10_000).rounded())
    if hundredths < 1 { return share == 0 ? "none" : "less than 0.01 %" }
    if hundredths >= 1000 { return "\((hundredths + 50) / 100) %" }
    if hundredths >= 100 { return "\((hundredths + 5) / 100).\((hundredths + 5) / 10 % 10) %" }
    return "0.\(hundredths < 10 ? "0" : "")\(hundredths) %"
  }
}
