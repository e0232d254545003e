import AlbumFileSystem
import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// The space as it was at points in time.

struct PastTests {
  /// What a path shows.
  private struct Node: Equatable {
    var kind: FileKind
    var content: [UInt8] = []
    var permissions: UInt16
    var modified: Timestamp
    var attributes: [[UInt8]: [UInt8]]
  }

  /// Everything below a directory, by paths.
  private func tree(_ space: TestSpace, _ top: InodeNumber) throws -> [String: Node] {
    var found: [String: Node] = [:]
    var waiting: [(path: String, number: InodeNumber, entry: Entry?)] = [("", top, nil)]
    while let next = waiting.popLast() {
      let directory = try space.fileSystem.openDirectory(next.number)
      var entries: [(String, Entry)] = []
      try directory.listWithAttributes(from: 0) { listed, entry in
        if let entry { entries.append((listed.name.display, entry)) }
        return true
      }
      for (name, entry) in entries {
        let path = "\(next.path)/\(name)"
        #expect(found[path] == nil, "\(path) is listed twice")
        found[path] = try node(space, entry)
        if entry.attributes.kind == .directory {
          waiting.append((path, entry.attributes.inode, entry))
        }
      }
    }
    return found
  }

  private func node(_ space: TestSpace, _ entry: Entry) throws -> Node {
    let (fileSystem, attributes) = (space.fileSystem, entry.attributes)
    #expect(try fileSystem.attributes(of: attributes.inode) == attributes)
    var node = Node(
      kind: attributes.kind, permissions: attributes.permissions, modified: attributes.modified,
      attributes: [:])
    for name in try fileSystem.extendedAttributeNames(of: attributes.inode) {
      node.attributes[name] = try fileSystem.extendedAttribute(name, of: attributes.inode)
    }
    switch attributes.kind {
    case .symlink: node.content = try fileSystem.symlinkTarget(of: attributes.inode)
    case .regular:
      let file = try fileSystem.open(attributes.inode, mode: OpenMode(writes: false))
      defer { file.release() }
      node.content = try file.get(Int(attributes.size) + 10, at: 0)
      node.content.removeLast(max(0, node.content.count - Int(attributes.size)))
    default: break
    }
    return node
  }

  private func past(_ space: TestSpace, _ name: FileName, _ below: String = "") throws
    -> [String: Node]
  {
    let list = try space.fileSystem.lookup(FileSystem.pastName, in: .root)
    var entry = try space.fileSystem.lookup(name, in: list.attributes.inode)
    for step in below.split(separator: "/") {
      entry = try space.fileSystem.lookup(FileName(String(step)), in: entry.attributes.inode)
    }
    return try tree(space, entry.attributes.inode)
  }

  /// A point and the whole tree, copied then.
  private struct Copy {
    var name: FileName
    var tree: [String: Node]
  }

  /// Makes random changes, points between them, and compares what each point shows with the tree of that
  /// instant, as it was listed then and as a copy of the store shows it: while the session goes on, after an
  /// unmount and after a kill.
  @Test(arguments: 0..<12) func eachPointShowsTheTreeAsItWasThen(_ round: Int) throws {
    var random = SeededRandom()
    let space = try TestSpace()
    try space.mkdir(".p")
    var copies: [Copy] = []
    var stores: [(label: FileName, copy: TestSpace)] = []
    for step in 0..<400 {
      let comment = "seed \(random.seed) step \(step)"
      if space.space.points.isEmpty, Bool.random(using: &random) {
        let before = try tree(space, .root)
        act(space, &random, step)
        // The first change that destroys something makes a point before it.
        if let point = space.space.points.first {
          copies.append(Copy(name: point.name, tree: before))
          #expect(try past(space, point.name) == before, "\(comment)")
        }
      } else {
        act(space, &random, step)
      }
      switch Int.random(in: 0..<60, using: &random) {
      case 0...3:
        let label = try FileName("p\(step)")
        let moment = space.space.removalMoment(space.clock.clock.now())
        _ = space.space.makePoint(label, at: moment)
        copies.append(Copy(name: label, tree: try tree(space, .root)))
        if copies.count % 4 == 1 { stores.append((label, try space.copied())) }
      case 4 where !copies.isEmpty:
        let gone = copies.remove(at: Int.random(in: 0..<copies.count, using: &random))
        let point = try #require(space.space.points.find(gone.name))
        try space.space.removePoints([point.number])
      case 5: try space.remount()
      case 6:
        try space.space.commit()
        try space.crash()
      case 7: try space.space.durability.checkpoint()
      case 8: try space.space.compact()
      default: break
      }
      if step % 50 == 49 { try compare(space, copies, comment) }
    }
    try space.remount()
    try compare(space, copies, "seed \(random.seed), mounted again")
    for store in stores where space.space.points.find(store.label) != nil {
      let rewound = [Copy(name: store.label, tree: try tree(store.copy, .root))]
      try compare(space, rewound, "seed \(random.seed), a copy of the store")
    }
    // Without points, nothing of the past is left.
    try space.space.removePoints(space.space.points.map(\.number))
    let deleted = space.deleted.map(\.inode)
    _ = try space.space.purgeDeleted(deleted)
    let left = space.space.read { catalog in
      let kept = catalog.inodes.places.filter { catalog.inodes.occupant($0) != nil }
        .filter { catalog.state(InodeIndex(rawValue: $0)).links == 0 }
      return (
        kept.count, catalog.formers.names.count, catalog.pastCounts.count, catalog.formers.count
      )
    }
    #expect(left == (0, 0, 0, 0), "seed \(random.seed)")
  }

  private func compare(_ space: TestSpace, _ copies: [Copy], _ comment: String) throws {
    for copy in copies {
      let shown = try past(space, copy.name)
      if shown == copy.tree { continue }
      let wrong = Set(shown.keys).union(copy.tree.keys).filter { shown[$0] != copy.tree[$0] }
      for path in wrong.sorted().prefix(5) {
        Issue.record(
          "\(comment) point \(copy.name.display) \(path): \(shown[path].debugDescription), and it was \(copy.tree[path].debugDescription)"
        )
      }
    }
    let problems = space.space.read { CatalogAudit($0).problems }
    #expect(problems.isEmpty, "\(comment): \(problems)")
  }

  private func path(_ random: inout SeededRandom) -> String {
    var path = ".p"
    for _ in 0...Int.random(in: 0...2, using: &random) {
      path += "/" + ["a", "b", "c"].randomElement(using: &random)!
    }
    return path
  }

  /// A random change, which may be refused.
  private func act(_ space: TestSpace, _ random: inout SeededRandom, _ step: Int) {
    let (first, second) = (path(&random), path(&random))
    let kind = Int.random(in: 0..<14, using: &random)
    let number = Int64.random(in: 0...8, using: &random)
    let flag = Bool.random(using: &random)
    space.clock.advance(seconds: flag ? 0 : 61)
    _ = try? change(space, first, second, kind, number, flag, step)
  }

  private func change(
    _ space: TestSpace, _ first: String, _ second: String, _ kind: Int, _ number: Int64,
    _ flag: Bool, _ step: Int
  ) throws {
    switch kind {
    case 0...1: try space.mkdir(first)
    case 2...3: try space.write("content \(step)", to: first)
    case 4: try space.unlink(first)
    case 5: try space.rmdir(first)
    case 6: try space.link(first, second)
    case 7: try space.rename(first, second, noReplace: flag)
    case 8: try space.rename(first, second, exchange: flag)
    case 9:
      let file = try space.open(first, writes: true)
      defer { file.release() }
      try file.put(Array("<\(step)>".utf8), at: number)
      try file.flush()
    case 10:
      var change = AttributeChange()
      if flag { change.size = number } else { change.permissions = UInt16(0o700 + number) }
      _ = try space.fileSystem.change(change, of: space.number(first))
    case 11:
      try space.fileSystem.setExtendedAttribute(
        Array("user.x".utf8), to: [UInt8(number)], of: space.number(first), mode: AttributeMode())
    case 12:
      let (parent, name) = try space.split(first)
      _ = try space.fileSystem.makeSymlink(
        name, in: parent, target: Array("to \(step)".utf8), for: TestSpace.me)
    default:
      guard let file = space.deleted.randomElement() else { return }
      _ = try space.fileSystem.restoreDeleted(file)
    }
  }

  // MARK: Albums

  @Test func anAlbumShowsItsThumbnailsAsTheyWere() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/day")
    try space.write("picture a", to: "Trip/Photo/a.jpg")
    try space.write("picture b", to: "Trip/Photo/day/b.jpg")
    try space.makeThumbnails()
    let before = try tree(space, space.number("Trip"))
    #expect(before["/Thumb/day/b.jpg"]?.content == Array("thumbnail of picture b".utf8))
    try space.write("other a", to: "Trip/Photo/a.jpg")
    try space.removeAll("Trip/Photo/day")
    try space.makeThumbnails()
    let point = try #require(space.space.points.first)
    #expect(space.space.points.count == 1)
    let shown = try past(space, point.name, "Trip")
    #expect(Set(shown.keys) == Set(before.keys))
    for (path, node) in before where node.kind == .regular {
      #expect(shown[path]?.content == node.content, "\(path)")
    }
    let restored = try space.fileSystem.restore(Array("Trip".utf8), at: point.number)
    #expect(restored.count == 2)
    #expect(try space.text("Trip/Photo/a (restored).jpg") == "picture a")
    #expect(try space.text("Trip/Photo/day/b.jpg") == "picture b")
    #expect(try space.text("Trip/Thumb/day/b.jpg") == "thumbnail of picture b")
    try space.makeThumbnails()
    #expect(try space.text("Trip/Thumb/a (restored).jpg") == "thumbnail of picture a")
    #expect(try space.fileSystem.restore([], at: point.number).count == 0)
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
  }

  /// What the user sees of an album in a snapshot does not follow the album of today.
  @Test func anAlbumInThePastKeepsItsCoverAndItsFacts() throws {
    let space = try TestSpace()
    try space.mkdir("Trip")
    for name in ["a.jpg", "b.jpg"] { try space.write("picture \(name)", to: "Trip/Photo/\(name)") }
    try space.makeThumbnails()
    let cover = Array("user.albumfs.cover".utf8)
    let dimensions = Array("user.albumfs.dimensions".utf8)
    try space.fileSystem.setExtendedAttribute(
      cover, to: Array("b.jpg".utf8), of: space.number("Trip"), mode: AttributeMode())
    let moment = space.space.removalMoment(space.clock.clock.now())
    let point = space.space.makePoint(try FileName("then"), at: moment)
    let list = try space.fileSystem.lookup(FileSystem.pastName, in: .root)
    let root = try space.fileSystem.lookup(try FileName("then"), in: list.attributes.inode)
    let trip = try space.fileSystem.lookup(try FileName("Trip"), in: root.attributes.inode)
    let folder = try space.fileSystem.lookup(try FileName("Photo"), in: trip.attributes.inode)
    let photo = try space.fileSystem.lookup(try FileName("b.jpg"), in: folder.attributes.inode)
    func get(_ name: [UInt8], of entry: Entry) throws -> String {
      let value = try space.fileSystem.extendedAttribute(name, of: entry.attributes.inode)
      return String(decoding: value, as: UTF8.self)
    }
    #expect(try get(cover, of: trip) == "b.jpg")
    #expect(try get(dimensions, of: photo) == "1x1")
    try space.rename("Trip/Photo/b.jpg", "Trip/Photo/c.jpg")
    try space.write("another picture", to: "Trip/Photo/c.jpg")
    #expect(try get(cover, of: trip) == "b.jpg")
    #expect(try get(dimensions, of: photo) == "1x1")
    try space.removeAll("Trip")
    #expect(try get(cover, of: trip) == "b.jpg")
    #expect(try get(dimensions, of: photo) == "1x1")
    _ = point
  }

  /// The folder itself comes back, or one that is made after it where it has moved.
  @Test(arguments: [false, true]) func aFolderComesBackWithItsTimesAndAttributes(
    _ hasMoved: Bool
  ) throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    try space.mkdir(".p/old", mode: 0o700)
    try space.mkdir(".p/old/deep")
    try space.write("text", to: ".p/old/deep/a")
    try space.fileSystem.setExtendedAttribute(
      Array("user.x".utf8), to: [4], of: space.number(".p/old"), mode: AttributeMode())
    let times = try [".p/old", ".p/old/deep"].map { try space.status($0).modified }
    space.clock.advance(seconds: 100)
    let moment = space.space.removalMoment(space.clock.clock.now())
    let point = space.space.makePoint(try FileName("then"), at: moment)
    if hasMoved { try space.rename(".p/old", ".p/moved") } else { try space.removeAll(".p/old") }
    space.clock.advance(seconds: 100)
    _ = try space.fileSystem.restore(Array(".p/old".utf8), at: point.number)
    #expect(try space.text(".p/old/deep/a") == "text")
    #expect(try [".p/old", ".p/old/deep"].map { try space.status($0).modified } == times)
    #expect(try space.status(".p/old").permissions == 0o700)
    #expect(
      try space.fileSystem.extendedAttribute(Array("user.x".utf8), of: space.number(".p/old"))
        == [4])
  }

  @Test(arguments: [false, true]) func aFolderWhoseNameIsTakenComesBackOnce(_ hasMoved: Bool) throws
  {
    let space = try TestSpace()
    try space.mkdir(".p")
    try space.mkdir(".p/old")
    try space.write("text", to: ".p/old/a")
    let moment = space.space.removalMoment(space.clock.clock.now())
    let point = space.space.makePoint(try FileName("then"), at: moment)
    if hasMoved { try space.rename(".p/old", ".p/moved") } else { try space.removeAll(".p/old") }
    try space.write("a file", to: ".p/old")
    #expect(try space.fileSystem.restore([], at: point.number).count == 1)
    #expect(try space.fileSystem.restore([], at: point.number).count == 0)
    #expect(try space.text(".p/old (restored)/a") == "text")
    #expect(try space.list(".p").filter { $0.contains("restored") } == ["old (restored)"])
  }

  /// Of a photo of which only what was said of it has changed, the former words come back beside it.
  @Test(arguments: ["caption", "permissions", "owner"]) func whatWasSaidOfAPhotoComesBack(
    _ what: String
  ) throws {
    let space = try TestSpace()
    let caption = Array("user.albumfs.caption".utf8)
    try space.mkdir("Trip", mode: 0o750)
    try space.write("a photo", to: "Trip/Photo/a.jpg")
    let photo = try space.number("Trip/Photo/a.jpg")
    for path in ["Trip/Photo/a.jpg", "Trip/Photo"] {
      try space.fileSystem.setExtendedAttribute(
        caption, to: [65], of: space.number(path), mode: AttributeMode())
    }
    let moment = space.space.removalMoment(space.clock.clock.now())
    let point = space.space.makePoint(try FileName("then"), at: moment).number
    var change = AttributeChange()
    switch what {
    case "caption":
      try space.fileSystem.setExtendedAttribute(caption, to: [66], of: photo, mode: AttributeMode())
    case "permissions": change.permissions = 0o600
    default: change.owner = 1001
    }
    _ = try space.fileSystem.change(change, of: photo)
    _ = try space.fileSystem.change(change, of: space.number("Trip/Photo"))
    let changes = try space.fileSystem.difference(from: point, to: nil).changes
    let paths = changes.map { String(decoding: $0.path, as: UTF8.self) }
    #expect(
      paths.filter { $0 != "Trip/Thumb" } == (what == "caption" ? [] : ["Trip/Photo"]) + [
        "Trip/Photo/a.jpg"
      ])
    #expect(changes.allSatisfy { $0.change == .changed })
    #expect(try space.fileSystem.restore(Array("Trip".utf8), at: point).count == 1)
    let back = try space.status("Trip/Photo/a (restored).jpg")
    #expect(try space.fileSystem.extendedAttribute(caption, of: back.inode) == [65])
    #expect(back.permissions == 0o644 && back.owner == TestSpace.me.user)
    #expect(try space.fileSystem.restore([], at: point).count == 0)
    // The album itself comes back with all that was said of it and of its parts.
    try space.rename("Trip", "Other")
    _ = try space.fileSystem.restore([], at: point)
    let parts = try ["Trip", "Trip/Photo", "Trip/Thumb"].map { try space.status($0).permissions }
    #expect(parts == [0o750, 0o750, 0o750])
    #expect(
      try space.fileSystem.extendedAttribute(caption, of: space.number("Trip/Photo")) == [65])
  }

  /// What is lost is a word that somebody wrote about a photo, a time, or an odd name. A program that makes a
  /// file sets all that, too, and there is nothing to lose yet. A clock that was a day ahead when the word was
  /// written does not make it young.
  @Test(
    arguments: [
      "caption", "no caption", "times", "permissions", "empty file", "empty folder", "hidden name",
      "hidden folder",
    ], [0, 100, -86_400] as [Int64])
  func beforeAnythingIsLostThereIsAPoint(_ what: String, seconds: Int64) throws {
    let space = try TestSpace()
    try space.mkdir(".p")
    try space.mkdir(".p/.gone")
    for (name, text) in [("a.jpg", "a photo"), (".b", "hidden"), ("empty", "")] {
      try space.write(text, to: ".p/\(name)")
    }
    let (caption, mode) = (Array("user.albumfs.caption".utf8), AttributeMode())
    let photo = try space.number(".p/a.jpg")
    try space.fileSystem.setExtendedAttribute(caption, to: [65], of: photo, mode: mode)
    #expect(space.space.points.isEmpty)
    space.clock.advance(seconds: seconds)
    let before = try tree(space, .root)
    var change = AttributeChange()
    switch what {
    case "caption":
      try space.fileSystem.setExtendedAttribute(caption, to: [66], of: photo, mode: mode)
    case "no caption": try space.fileSystem.removeExtendedAttribute(caption, of: photo)
    case "times":
      (change.accessed, change.modified) = (.now, .now)
      _ = try space.fileSystem.change(change, of: photo)
    case "permissions":
      change.permissions = 0o600
      _ = try space.fileSystem.change(change, of: photo)
    case "empty file": try space.unlink(".p/empty")
    case "empty folder": try space.rmdir(".p/.gone")
    case "hidden name": try space.rename(".p/.b", ".p/b")
    default: try space.rename(".p/.gone", ".p/.moved")
    }
    #expect(try tree(space, .root) != before)
    let points = space.space.points.map(\.name)
    #expect(points.count == (seconds == 0 ? 0 : 1))
    try compare(space, points.map { Copy(name: $0, tree: before) }, what)
  }

  /// Of a photo that is given other permissions and then overwritten, several versions have one content.
  @Test(arguments: ["overwritten", "twice within a minute", "and the newer version goes"])
  func eachSnapshotHasTheThumbnailOfItsContent(_ change: String) throws {
    let space = try TestSpace()
    func point(_ name: StaticString) -> HistoryPoint {
      space.space.makePoint(
        FileName(literal: name), at: space.space.removalMoment(space.fileSystem.clock.now()))
    }
    try space.mkdir("Trip")
    try space.write("first", to: "Trip/Photo/a.jpg")
    if change == "twice within a minute" { try space.write("second", to: "Trip/Photo/a.jpg") }
    try space.makeThumbnails()
    let before = try tree(space, space.number("Trip"))
    let made = point("before")
    if change != "twice within a minute" {
      var other = AttributeChange()
      other.permissions = 0o600
      _ = try space.fileSystem.change(other, of: try space.number("Trip/Photo/a.jpg"))
    }
    let next = point("next")
    try space.write("third", to: "Trip/Photo/a.jpg")
    try space.makeThumbnails()
    if change == "and the newer version goes" {
      try space.space.removePoints([next.number])
      _ = try space.space.compactor.discardDeleted(space.deleted.map(\.inode))
      #expect(space.deleted.isEmpty)
    }
    for isAgain in [false, true] {
      let shown = try past(space, made.name, "Trip")
      #expect(shown["/Photo/a.jpg"] == before["/Photo/a.jpg"])
      #expect(shown["/Thumb/a.jpg"]?.content == before["/Thumb/a.jpg"]?.content)
      #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
      if !isAgain { try space.remount() }
    }
  }

  // MARK: Read-only and hidden

  @Test func thePastIsHiddenAndCannotBeChanged() throws {
    let space = try TestSpace()
    try space.write("one", to: "a")
    try space.unlink("a")
    #expect(try !space.list("").contains(".snapshots"))
    let list = try space.fileSystem.lookup(FileSystem.pastName, in: .root)
    let point = try #require(space.space.points.first)
    let root = try space.fileSystem.lookup(point.name, in: list.attributes.inode)
    let file = try space.fileSystem.lookup(try FileName("a"), in: root.attributes.inode)
    #expect(file.attributes.inode.rawValue >> 63 == 1)
    let name = try FileName("b")
    #expect(
      refusal { try space.fileSystem.open(file.attributes.inode, mode: OpenMode(writes: true)) }
        == .readOnly)
    #expect(
      refusal { try space.fileSystem.unlink(try FileName("a"), in: root.attributes.inode) }
        == .readOnly)
    #expect(
      refusal {
        try space.fileSystem.makeDirectory(
          name, in: root.attributes.inode, permissions: 0o755, for: TestSpace.me)
      } == .readOnly)
    #expect(
      refusal { try space.fileSystem.link(file.attributes.inode, as: name, in: .root) } == .readOnly
    )
    var change = AttributeChange()
    change.permissions = 0
    #expect(refusal { try space.fileSystem.change(change, of: file.attributes.inode) } == .readOnly)
    // An entry of the user's goes first.
    try space.mkdir(".snapshots")
    #expect(try space.list("").contains(".snapshots"))
    let own = try space.fileSystem.lookup(FileSystem.pastName, in: .root)
    #expect(own.attributes.inode.rawValue >> 63 == 0)
  }

  /// A time leads to the first point from then on.
  @Test func aTimeLeadsToThePointThatHasAllThatWasThereThen() throws {
    let space = try TestSpace()
    try space.write("one", to: "a")
    try space.unlink("a")
    let point = try #require(space.space.points.first)
    let points = space.space.points
    #expect(points.find(HistoryPoint.name(of: point.wall.seconds - 1)) == point)
    #expect(points.find(HistoryPoint.name(of: point.wall.seconds)) == point)
    #expect(points.find(HistoryPoint.name(of: point.wall.seconds + 1)) == nil)
    #expect(points.find(try FileName("2026-13-01T00.00.00Z")) == nil)
    #expect(points.find(try FileName("2026-02-30T00.00.00Z")) == nil)
    #expect(HistoryPoint.name(of: 1_795_687_200).display == "2026-11-26T10.00.00Z")
    for text in [
      ".a", "a:b", "a*", "a.", "2026-11-26T10.00.00Z", "2026-11-26", "2026-11-26T10.00", "1h", "30",
      "tab\t",
    ] {
      #expect(!HistoryPoint.isLabel(try FileName(text)), "\(text)")
    }
    #expect(HistoryPoint.isLabel(try FileName("Vor dem Sortieren")))
    let list = try space.fileSystem.lookup(FileSystem.pastName, in: .root)
    let link = try space.fileSystem.lookup(
      HistoryPoint.name(of: point.wall.seconds - 100), in: list.attributes.inode)
    #expect(try space.fileSystem.symlinkTarget(of: link.attributes.inode) == point.name.bytes)
  }

  /// A program removes its temporary file and goes on to write into it.
  @Test func whatIsWrittenIntoARemovedFileIsNotKept() throws {
    let space = try TestSpace()
    try space.write("photo", to: "a")
    try space.write("start", to: "temporary")
    try space.unlink("a")
    var entry: Entry? = try space.lookup("temporary")
    let file = try space.open("temporary", writes: true)
    try space.unlink("temporary")
    try file.put([UInt8](repeating: 7, count: 100_000), at: 0)
    try file.flush()
    file.release()
    withExtendedLifetime(entry) {}
    entry = nil
    _ = try space.space.purgeDeleted(space.deleted.map(\.inode))
    let held = space.space.read { catalog in
      catalog.segments.accounts.values.reduce(0) { $0 + $1.live }
    }
    #expect(held < 50_000)
    try space.space.removePoints(space.space.points.map(\.number))
    #expect(space.space.read { CatalogAudit($0).problems.isEmpty })
  }

  // MARK: Thinning

  @Test func ofTheOldPointsTheFirstOfEachHourAndOfEachDayStay() {
    let hour: Int64 = 3600
    var points: [HistoryPoint] = []
    for minute in stride(from: Int64(0), to: 40 * 24 * 60, by: 7) {
      points.append(
        HistoryPoint(
          number: InodeNumber(UInt64(minute + 2)), used: StoreTime(milliseconds: minute * 60_000),
          wall: Timestamp(seconds: minute * 60)))
    }
    let now = StoreTime(milliseconds: 40 * 24 * hour * 1000)
    let going = Set(PointThinning.superfluous(points, now: now, kept: .seconds(30 * 24 * hour)))
    let ages = points.filter { !going.contains($0.number) }.map {
      (now - $0.used).components.seconds
    }
    let day = 24 * hour
    #expect(ages.max()! <= 30 * day)
    let ofDay = ages.filter { $0 <= day }.count
    let ofWeek = ages.filter { $0 > day && $0 <= 7 * day }.count
    let older = ages.filter { $0 > 7 * day }.count
    #expect((205...206).contains(ofDay))
    #expect((143...145).contains(ofWeek))
    #expect((22...24).contains(older))
    // Thinned again, they stay.
    let rest = points.filter { !going.contains($0.number) }
    #expect(PointThinning.superfluous(rest, now: now, kept: .seconds(30 * 24 * hour)).isEmpty)
  }
}
