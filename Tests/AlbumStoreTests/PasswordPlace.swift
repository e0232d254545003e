import AlbumFormat
import AlbumModel
import AlbumSecrets
import AlbumStore
import AlbumTestSupport
import Posix

/// A store in a directory of its own, whose spaces only their passwords identify.
struct PasswordPlace {
  let directory = TemporaryDirectory()
  @Sendable static func birth(_: Store, _: SpaceKeys) throws(StoreError) {}

  /// Makes a store with one space for each password.
  init(
    _ passwords: String..., chaff: Int64? = 0, cost: KDFCost? = nil,
    birth: (Store, SpaceKeys) throws(StoreError) -> Void = PasswordPlace.birth
  ) throws {
    var options = StoreOptions()
    options.cost = .forTests
    if let cost { options.cost = cost }
    options.segmentSize = SegmentLayout.minimumByteCount
    options.chaffByteCount = chaff
    let store = try Store.create(
      in: try storage(), options: options, password: secret(passwords[0]),
      birth: birth)
    for password in passwords.dropFirst() {
      try store.addSpace(password: secret(password), birth: birth)
    }
  }

  func storage() throws -> PosixDirectory { try PosixDirectory(path: directory.path) }

  /// The store as another process sees it.
  func open() throws -> Store { try Store.open(try storage()) }

  /// Returns which space a password unlocks, as the name of its first segment.
  func space(_ password: String) throws -> SegmentName {
    try open().unlock(password: secret(password)).identity
  }

  // MARK: Its files

  func read(_ path: String) throws -> [UInt8] {
    try storage().contents(of: path, limit: 1 << 24)
  }

  func write(_ bytes: [UInt8], to path: String) throws {
    let storage = try storage()
    try? storage.remove(path)
    let file = try storage.open(path, .createNew)
    try unsafe bytes.withUnsafeBytes { try unsafe file.write($0, at: 0) }
  }

  func edit(_ path: String, _ change: (inout [UInt8]) -> Void) throws {
    var bytes = try read(path)
    change(&bytes)
    try write(bytes, to: path)
  }
}

extension SpaceKeys {
  var identity: SegmentName { name(of: .journal, number: SegmentNumber(1), birth: .none) }
}

func secret(_ text: String) -> SecretBytes {
  var bytes = Array(text.utf8)
  return SecretBytes(wiping: &bytes)
}

/// The error that the store throws; nil if it throws none.
func failure(_ body: () throws -> Void) -> StoreError? {
  do {
    try body()
    return nil
  } catch {
    return error as? StoreError
  }
}
