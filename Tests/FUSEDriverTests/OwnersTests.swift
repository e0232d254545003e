import AlbumFileSystem
import AlbumModel
import Testing

@testable import FUSEDriver

/// The owners that a mount shows, and the owners that the space stores.
@Suite struct OwnersTests {
  private func owners(_ words: String = "", user: UInt32 = 1001, _ choice: OwnerChoice? = nil)
    throws
    -> Owners
  {
    var options = MountOptions(source: "/store")
    try options.add(words)
    options.owner = choice
    return options.owners(user: user, group: user, groups: [user, 50])
  }

  private func file(_ user: UInt32, _ group: UInt32) throws -> Attributes {
    let space = try KernelSpace()
    var attributes = try space.driver.attributes(of: InodeNumber(1))
    attributes.owner = user
    attributes.group = group
    return attributes
  }

  private func change(user: UInt32? = nil, group: UInt32? = nil) -> AttributeChange {
    var change = AttributeChange()
    change.owner = user
    change.group = group
    return change
  }

  @Test func anOrdinaryUsersMountIsAllTheirOwn() throws {
    let mine = try owners()
    #expect(mine.user == 1001 && mine.group == 1001)
    let shown = mine.shown(try file(1000, 1000))
    #expect(shown.owner == 1001 && shown.group == 1001)
    // A group of the user is shown.
    #expect(mine.shown(try file(1000, 50)).group == 50)
    #expect(mine.stored(user: 1001, group: 50) == (1001, 50))
    #expect(mine.stored(user: 0, group: 0) == (1001, 1001))
    let same = try mine.stored(change(user: 1001, group: 1001)) { 1000 }
    #expect(same.owner == nil && same.group == nil && same.killsSetID)
    #expect(try mine.stored(change(group: 50)) { 1000 }.group == 50)
    #expect(try mine.stored(change(group: 1001)) { 50 }.group == 1001)
    for other in [change(user: 1000), change(group: 1000)] {
      let error = #expect(throws: FSError.self) { try mine.stored(other) { 7 } }
      #expect(error?.code == .notPermitted)
    }
  }

  @Test func rootAndMountsForOthersKeepOwners() throws {
    #expect(try owners(user: 0) == .stored)
    #expect(try owners("allow_other") == .stored)
    #expect(try owners(user: 1001, .keep) == .stored)
    #expect(try owners("allow_other", .map).user == 1001)
    #expect(try owners(user: 0, .map).user == 0)
    let stored = try Owners.stored.stored(change(user: 7, group: 8)) { 0 }
    #expect(stored.owner == 7 && stored.group == 8)
  }

  @Test func givenIDsWinOverAll() throws {
    let both = try owners("allow_other,uid=33,gid=50", user: 0)
    #expect(both == Owners(user: 33, group: 50))
    #expect(try owners("uid=33", user: 0) == Owners(user: 33))
    let error = #expect(throws: FSError.self) { try both.stored(change(group: 51)) { 50 } }
    #expect(error?.code == .notPermitted)
    #expect(try owners("uid=root,gid=nogroup") == Owners(user: 0, group: 65534))
    for word in ["uid=no such user", "uid=nogroup", "gid=", "uid=-1", "gid=4294967295", "uid=1 "] {
      #expect(throws: MountError.badID(word)) { _ = try owners(word) }
    }
  }
}
