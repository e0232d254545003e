import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumTestSupport
import Posix
import Testing

@testable import AlbumStore

// `keys` and the confs, byte by byte: a password unlocks its own space and never another one, or a clear
// error says why not. A damaged slot costs only its own space, and a change of `keys` copies it as it is.

struct KeysDamageTests {
  private static let passwords = ["one", "two", "three"]
  private let store: FrozenStore
  private let keys: [PasswordKey]
  private let spaces: [SegmentName]

  /// Makes a store with three spaces and few slots, to save time.
  init() throws {
    var disk = DamagedDisk()
    repeat {
      disk = DamagedDisk()
      var options = StoreOptions()
      options.cost = .forTests
      options.segmentSize = SegmentLayout.minimumByteCount
      options.chaffByteCount = 0
      let made = try Store.create(
        in: disk, options: options, password: KeysDamageTests.secret("one"), birth: { _, _ in })
      for password in KeysDamageTests.passwords.dropFirst() {
        try made.addSpace(password: KeysDamageTests.secret(password), birth: { _, _ in })
      }
    } while (disk.bytes("keys")?.count ?? 0) > 20 * KeySlot.byteCount
    store = disk.frozen()
    let opened = try Store.open(disk)
    keys = try KeysDamageTests.passwords.flatMap {
      try opened.passwordKeys(KeysDamageTests.secret($0))
    }
    spaces = try KeysDamageTests.passwords.map {
      try opened.unlock(password: KeysDamageTests.secret($0)).name(
        of: .journal, number: SegmentNumber(1), birth: .none)
    }
  }

  private static func secret(_ text: String) -> SecretBytes {
    var bytes = Array(text.utf8)
    return SecretBytes(wiping: &bytes)
  }

  /// Returns which of the three spaces a password unlocks; nil for a wrong password.
  private func opened(_ store: Store, _ password: String) throws -> Int? {
    let found: SpaceKeys
    do throws(StoreError) {
      found = try store.unlock(password: KeysDamageTests.secret(password))
    } catch {
      if error.code == .wrongPassword { return nil }
      throw error
    }
    // There is no fourth space: -1 is the place of none.
    return spaces.firstIndex(
      of: found.name(
        of: .journal, number: SegmentNumber(1), birth: .none)) ?? -1
  }

  @Test func aFlippedByteOfKeysCostsTheSpaceOfThatSlotAndNoOther() throws {
    let bytes = try #require(store.files["keys"]?.bytes)
    let slots = KeySlots(bytes)
    let places = try keys.map { try slots.find([$0]).places[0] }
    for offset in bytes.indices {
      for bit in Thoroughness.isLong ? Array(0..<8) : [offset % 8] {
        var damaged = bytes
        damaged[offset] ^= 1 << UInt8(bit)
        let slots = KeySlots(damaged)
        for (space, key) in keys.enumerated() {
          let isHit = places[space] == offset / KeySlot.byteCount
          do throws(StoreError) {
            let found = try slots.find([key])
            #expect(!isHit && found.places == [places[space]], "byte \(offset)")
          } catch {
            #expect(isHit && error.code == .wrongPassword, "byte \(offset): \(error)")
          }
        }
      }
    }
    print("keys: \(bytes.count * (Thoroughness.isLong ? 8 : 1)) flips")
  }

  @Test func theSameByTheWholeWayFromTheStore() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let count = try #require(store.files["keys"]?.bytes.count)
    for offset in Thoroughness.places(0..<count, 200, &random) {
      let disk = DamagedDisk(store)
      disk.flip("keys", offset, random.bit())
      let opened = try KeysDamageTests.passwords.map { try self.opened(Store.open(disk), $0) }
      #expect(opened.enumerated().allSatisfy { $0.element == nil || $0.element == $0.offset })
      #expect(opened.filter { $0 == nil }.count <= 1, "byte \(offset)")
    }
  }

  @Test func aPasswordChangeCarriesDamagedSlotsOverByteForByte() throws {
    var random = SeededRandom()
    print("seed \(random.seed)")
    let bytes = try #require(store.files["keys"]?.bytes)
    let mine = try KeySlots(bytes).find([keys[0]]).places[0]
    for place in 0..<(bytes.count / KeySlot.byteCount) where place != mine {
      let disk = DamagedDisk(store)
      for _ in 0..<3 {
        let offset = place * KeySlot.byteCount + Int.random(in: 0..<512, using: &random)
        disk.flip("keys", offset, random.bit())
      }
      let before = try #require(disk.bytes("keys"))
      try Store.open(disk).changePassword(
        old: KeysDamageTests.secret("one"), new: KeysDamageTests.secret("new"))
      let after = try #require(disk.bytes("keys"))
      #expect(after.count == before.count)
      for slot in 0..<(before.count / KeySlot.byteCount) {
        let range = slot * KeySlot.byteCount..<(slot + 1) * KeySlot.byteCount
        #expect((after[range] == before[range]) == (slot != mine), "slot \(slot)")
      }
      #expect(try opened(Store.open(disk), "new") == 0)
    }
  }

  @Test(arguments: ["albumfs.conf", "albumfs.conf.bak"])
  func aFlippedByteOfOneConfCostsNothing(_ path: String) throws {
    let count = try #require(store.files[path]?.bytes.count)
    for offset in 0..<count {
      for bit in 0..<8 {
        let disk = DamagedDisk(store)
        disk.flip(path, offset, 1 << UInt8(bit))
        let opened = try Store.open(disk)
        #expect(try self.opened(opened, "two") == 1, "byte \(offset)")
        #expect(opened.warnings.count == 1)
      }
    }
    print("\(path): \(count * 8) flips")
  }

  @Test func aFlippedByteOfBothConfsIsReportedClearly() throws {
    let count = try #require(store.files["albumfs.conf"]?.bytes.count)
    let clear: Set<StoreError.Code> = [
      .configurationAltered, .notAStore, .newerFormat, .costRefused,
    ]
    for offset in 0..<count {
      for bit in 0..<8 {
        let disk = DamagedDisk(store)
        disk.flip("albumfs.conf", offset, 1 << UInt8(bit))
        disk.flip("albumfs.conf.bak", offset, 1 << UInt8(bit))
        let error = refusal { _ = try self.opened(Store.open(disk), "two") }
        #expect(error.map { clear.contains($0.code) } == true, "byte \(offset): \(error as Any)")
      }
    }
    print("both confs: \(count * 8) flips")
  }
}
