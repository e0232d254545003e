import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Testing

@testable import AlbumStore

// Several passwords of one space. Each unlocks it, each can be removed alone, and no other space is affected.

@Suite struct MorePasswordsTests {
  private func add(_ new: String, to old: String, in place: PasswordPlace) throws -> Int {
    let store = try place.open()
    return try store.add(secret(new), to: store.passwordChange(old: secret(old)))
  }

  private func remove(_ removal: Store.Removal, _ password: String, in place: PasswordPlace) throws
    -> Store.Removed
  {
    let store = try place.open()
    return try store.remove(removal, of: store.passwordChange(old: secret(password)))
  }

  private func slots(_ place: PasswordPlace) throws -> [ArraySlice<UInt8>] {
    let bytes = try place.read("keys")
    return stride(from: 0, to: bytes.count, by: KeySlot.byteCount).map {
      bytes[$0..<$0 + KeySlot.byteCount]
    }
  }

  @Test func `each of several passwords unlocks the space, and others unlock theirs`() throws {
    let place = try PasswordPlace("one", "two")
    let (one, two) = (try place.space("one"), try place.space("two"))
    let before = try slots(place)
    #expect(try add("eins", to: "one", in: place) == 2)
    #expect(try add("un", to: "eins", in: place) == 3)
    for password in ["one", "eins", "un"] { #expect(try place.space(password) == one) }
    #expect(try place.space("two") == two)
    let after = try slots(place)
    #expect((2...6).contains(after.count - before.count))
    // All former slots are there, in their order.
    #expect(after.filter(Set(before).contains) == before)
  }

  @Test func `a password that unlocks any space is not added`() throws {
    let place = try PasswordPlace("one", "two")
    let before = try place.read("keys")
    for password in ["one", "two"] {
      #expect(
        failure { _ = try add(password, to: "one", in: place) }?.code == .alreadyExists)
    }
    #expect(failure { _ = try add("", to: "one", in: place) }?.code == .emptyPassword)
    #expect(failure { _ = try add("new", to: "won", in: place) }?.code == .wrongPassword)
    #expect(try place.read("keys") == before)
  }

  @Test func `the recovery key adds a password`() throws {
    let place = try PasswordPlace("one", "two")
    let store = try place.open()
    let one = try place.space("one")
    let key = try store.recoveryKey(password: secret("one"))
    let change = try store.passwordChange(recoveryKey: key)
    #expect(try store.add(secret("new"), to: change) == 2)
    #expect(try place.space("new") == one)
    #expect(try place.space("one") == one)
  }

  @Test func `the given password goes alone, and the last one stays`() throws {
    let place = try PasswordPlace("one", "two")
    let one = try place.space("one")
    _ = try add("eins", to: "one", in: place)
    let before = try slots(place)
    #expect(try remove(.given, "one", in: place) == Store.Removed(removed: 1, left: 1))
    let after = try slots(place)
    #expect(after.count == before.count)
    #expect(zip(before, after).count { Array($0) != Array($1) } == 1)
    #expect(failure { _ = try place.space("one") }?.code == .wrongPassword)
    #expect(try place.space("eins") == one)
    #expect(failure { _ = try remove(.given, "eins", in: place) }?.code == .unsupportedFeature)
    #expect(try slots(place) == after)
    #expect(failure { _ = try place.space("two") } == nil)
  }

  @Test func `all others go, for a key that is lost`() throws {
    let place = try PasswordPlace("one", "two")
    let one = try place.space("one")
    _ = try add("lost", to: "one", in: place)
    _ = try add("forgotten", to: "one", in: place)
    #expect(try remove(.others, "one", in: place) == Store.Removed(removed: 2, left: 1))
    #expect(try place.space("one") == one)
    for password in ["lost", "forgotten"] {
      #expect(failure { _ = try place.space(password) }?.code == .wrongPassword)
    }
    #expect(failure { _ = try place.space("two") } == nil)
    #expect(try remove(.others, "one", in: place) == Store.Removed(removed: 0, left: 1))
  }

  @Test func `a changed password leaves the others, the recovery key none`() throws {
    let place = try PasswordPlace("one", "two")
    let one = try place.space("one")
    _ = try add("eins", to: "one", in: place)
    try place.open().changePassword(old: secret("one"), new: secret("new"))
    for password in ["eins", "new"] { #expect(try place.space(password) == one) }
    let store = try place.open()
    let key = try store.recoveryKey(password: secret("eins"))
    let change = try store.passwordChange(recoveryKey: key)
    #expect(try store.finish(change, new: secret("last")) == 1)
    #expect(try place.space("last") == one)
    for password in ["one", "eins", "new"] {
      #expect(failure { _ = try place.space(password) }?.code == .wrongPassword)
    }
    #expect(failure { _ = try place.space("two") } == nil)
  }

  @Test func `a space is destroyed with all of its passwords by any of them`() throws {
    let place = try PasswordPlace("one", "two")
    _ = try add("eins", to: "one", in: place)
    _ = try add("un", to: "one", in: place)
    try SpaceDestruction(place.open(), password: secret("eins")).destroySlots()
    for password in ["one", "eins", "un"] {
      #expect(failure { _ = try place.space(password) }?.code == .wrongPassword)
    }
    #expect(failure { _ = try place.space("two") } == nil)
  }
}
