import AlbumFileSystem
import AlbumModel
import Testing

// A listing stays correct while entries come and go: each name that exists all the time comes once, whatever
// happens to others.

struct OpenDirectoryTests {
  let space: TestSpace
  init() throws {
    space = try TestSpace()
    try space.mkdir(".p")
  }

  /// Lists in calls of `step` entries, with `between` after each.
  private func list(_ path: String, step: Int, between: () throws -> Void = {}) throws -> [String] {
    let directory = try space.fileSystem.openDirectory(space.number(path))
    var names: [String] = []
    var offset: Int64 = 0
    while true {
      var count = 0
      try directory.list(from: offset) { entry in
        if count == step { return false }
        count += 1
        names.append(entry.name.display)
        offset = entry.nextOffset
        return true
      }
      if count == 0 { return names }
      try between()
    }
  }

  @Test func dotsComeFirst() throws {
    try space.write("", to: ".p/f")
    #expect(try list(".p", step: 1) == [".", "..", "f"])
  }

  @Test func removingWhileListingMissesNothing() throws {
    for number in 0..<1000 { try space.write("", to: ".p/\(number)") }
    var removed = 0
    let names = try list(".p", step: 7) {
      for _ in 0..<7 where removed < 500 {
        try space.unlink(".p/\(removed)")
        removed += 1
      }
    }
    let stayed = (500..<1000).map(String.init)
    #expect(names.filter { Int($0) ?? 0 >= 500 } == stayed)
  }

  @Test func renamingEveryFileWhileListingEnds() throws {
    for number in 0..<300 { try space.write("", to: ".p/\(number)") }
    var next = 0
    let names = try list(".p", step: 5) {
      for _ in 0..<5 where next < 300 {
        try space.rename(".p/\(next)", ".p/new\(next)")
        next += 1
      }
    }
    #expect(names.count <= 302)
  }

  @Test func aNameThatIsReplacedMeanwhileIsStillListed() throws {
    for number in 0..<20 { try space.write("", to: ".p/\(number)") }
    var isDone = false
    let names = try list(".p", step: 3) {
      if isDone { return }
      isDone = true
      try space.write("", to: ".p/.tmp")
      try space.rename(".p/.tmp", ".p/15")
    }
    #expect(names.filter { $0 == "15" }.count == 1)
  }

  @Test func thumbIsListedInAnySteps() throws {
    try space.mkdir("Trip")
    try space.mkdir("Trip/Photo/Day 1")
    var expected = [".", "..", "Day 1"]
    for number in 0..<50 {
      let name = "\(number).jpg"
      try space.write(name, to: number % 2 == 0 ? "Trip/Photo/\(name)" : "Trip/\(name)")
      expected.append(name)
    }
    try space.makeThumbnails()
    try space.write("mine", to: "Trip/Thumb/7.jpg")
    try space.write("mine", to: "Trip/Thumb/extra.jpg")
    expected.append("extra.jpg")
    for step in [1, 2, 7, 100] {
      #expect(try list("Trip/Thumb", step: step).sorted() == expected.sorted())
    }
  }

  @Test func listedNamesResolveAndResolvedNamesAreListed() throws {
    try space.mkdir("Trip")
    try space.write("a", to: "Trip/Photo/a.jpg")
    #expect(try space.list("Trip/Thumb") == [])
    #expect(!space.exists("Trip/Thumb/a.jpg"))
    try space.makeThumbnails()
    #expect(try space.list("Trip/Thumb") == ["a.jpg"])
    #expect(space.exists("Trip/Thumb/a.jpg"))
    #expect(!space.exists("Trip/a.jpg"))
  }

  @Test func entriesOfAListingWithAttributesStayWhileTheyAreKept() throws {
    space.keepNoDeletedFiles()
    try space.write("1", to: ".p/a")
    try space.write("22", to: ".p/b")
    let directory = try space.fileSystem.openDirectory(space.number(".p"))
    var taken: [Entry] = []
    try directory.listWithAttributes(from: 0) { listed, entry in
      if listed.name.display == "b" { return false }
      if let entry { taken.append(entry) }
      return true
    }
    #expect(taken.map(\.attributes.size) == [1])
    let (a, b) = (try space.number(".p/a"), try space.number(".p/b"))
    try space.unlink(".p/a")
    try space.unlink(".p/b")
    #expect(try space.fileSystem.attributes(of: a).links == 0, "still referred to")
    #expect(refusal { try space.fileSystem.attributes(of: b) } == .stale)
    taken = []
    #expect(refusal { try space.fileSystem.attributes(of: a) } == .stale)
  }
}
