import AlbumFormat
import AlbumModel
import AlbumTestSupport
import Testing

@testable import AlbumStore

/// The tables of the catalog beside a plain dictionary, while they grow and are packed in small steps.
struct TableTests {
  /// More names than one page of a hash table has, and more than a mebibyte of them.
  @Test func namesAreFoundAndListedWhileMostOfThemGo() {
    var random = SeededRandom(seed: 1)
    var catalog = Catalog(rootOwner: 0, group: 0, permissions: 0o755, time: .init(nanoseconds: 0))
    let root = catalog.index(of: .root)!
    var model: [FileName: InodeNumber] = [:]
    var names: [FileName] = []
    // Comes and goes in waves, so that names of removed files are packed more than once.
    for wave in 0..<3 {
      for number in 0..<9000 {
        let text = "\(wave) \(number) " + String(repeating: "photo ", count: 25)
        let name = FileName(known: Array(text.utf8))
        let file = catalog.create(
          kind: .regular, permissions: 0o644, owner: 0, group: 0, time: .init(nanoseconds: 0))
        catalog.insertEntry(name, in: root, child: file)
        catalog.unpin(file)
        model[name] = catalog.state(file).number
        names.append(name)
        if number % 3 == 0 { removeOne(from: &catalog, &names, &model, &random) }
      }
      while names.count > 500 { removeOne(from: &catalog, &names, &model, &random) }
      expectSame(catalog, root, model)
    }
  }

  private func removeOne(
    from catalog: inout Catalog, _ names: inout [FileName], _ model: inout [FileName: InodeNumber],
    _ random: inout SeededRandom
  ) {
    let place = Int.random(in: 0..<names.count, using: &random)
    names.swapAt(place, names.count - 1)
    let name = names.removeLast()
    let removed = catalog.removeEntry(name, in: catalog.index(of: .root)!)
    if removed != model.removeValue(forKey: name) { Issue.record("\(name) led elsewhere") }
  }

  private func expectSame(
    _ catalog: borrowing Catalog, _ root: InodeIndex, _ model: [FileName: InodeNumber]
  ) {
    var listed: [FileName: InodeNumber] = [:]
    var last: UInt32? = 0
    while let start = last {
      last = nil
      var count = 0
      catalog.forEachEntry(of: root, after: start) { name, child, cookie in
        listed[name] = catalog.state(child).number
        (last, count) = (cookie, count + 1)
        return count < 100
      }
    }
    #expect(listed == model)
    for (name, number) in model {
      let child = catalog.child(name, of: root)
      if child == nil || catalog.index(of: number) != child { Issue.record("\(name) is lost") }
    }
    let count = catalog.inodeCount
    #expect(count == model.count + 1)
  }
}
