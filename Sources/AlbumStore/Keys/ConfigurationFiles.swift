internal import AlbumFormat
internal import AlbumSecrets
internal import Posix

/// `albumfs.conf` and `albumfs.conf.bak`, two files with the same bytes, so that no single file may cost the
/// store. Processes take all locks on the first, so no other file ever replaces it.
enum ConfigurationFiles {
  static let main = StorePath.configuration
  static let twin = StorePath.configurationTwin

  /// The state of one of the two files.
  private enum Reading {
    case good(StoreConfiguration)
    case bad(ConfFault)
  }

  // MARK: Reading

  /// If only one of the files is usable, uses it and warns about the other. If both are usable and differ in
  /// their Argon2id lines, passwords are tried with the lines of both; the slot shows which is right. If
  /// they differ in the format line, nothing can be read safely.
  static func open(_ directory: any StorageDirectory) throws(StoreError) -> Store {
    let (first, second) = (read(main, directory), read(twin, directory))
    try refuseNewer(first)
    try refuseNewer(second)
    switch (first, second) {
    case (.good(let one), .good(let other)): return try join(one, other, directory)
    case (.good(let one), .bad(let fault)):
      return Store(directory, one, warnings: [.unusableConf(path: twin, twin: main, fault)])
    case (.bad(let fault), .good(let other)):
      return Store(directory, other, warnings: [.unusableConf(path: main, twin: twin, fault)])
    case (.bad(let one), .bad(let other)): throw refusal(one, other, directory)
    }
  }

  private static func read(_ path: String, _ directory: any StorageDirectory) -> Reading {
    let bytes: [UInt8]
    do throws(Errno) {
      bytes = try directory.contents(of: path, limit: StoreConfiguration.maximumByteCount)
    } catch {
      switch error {
      case .noEntry: return .bad(.missing)
      case .tooBig: return .bad(.undecodable(.notAStore))
      default: return .bad(.unreadable(error))
      }
    }
    do throws(ConfigurationError) { return .good(try StoreConfiguration(decoding: bytes)) } catch {
      return .bad(.undecodable(error))
    }
  }

  private static func join(
    _ one: StoreConfiguration, _ other: StoreConfiguration, _ directory: any StorageDirectory
  ) throws(StoreError) -> Store {
    if one == other { return Store(directory, one) }
    if one.segmentSize != other.segmentSize {
      throw StoreError(
        .configurationAltered,
        "\(main) and \(twin) contradict each other: one of them was edited; restore both from a "
          + "backup", path: main)
    }
    let difference = ConfDifference(main: one.derivations, twin: other.derivations)
    var joined = one
    joined.derivations += other.derivations.filter { !one.derivations.contains($0) }
    if let excess = StoreConfiguration.excess(joined.derivations) {
      throw StoreError(
        .costRefused,
        "\(main) and \(twin) differ, and together ask for an absurd cost of Argon2id (\(excess)): "
          + "one of them was edited; restore both from a backup", path: main)
    }
    return Store(
      directory, joined, difference: difference,
      warnings: [.confsDiffer(right: difference.longer)])
  }

  // MARK: Refusing

  private static func refuseNewer(_ reading: Reading) throws(StoreError) {
    if case .bad(.undecodable(.newerFormat(let format, isIntact: true))) = reading {
      throw newer(format)
    }
  }

  private static func newer(_ format: Int) -> StoreError {
    StoreError(
      .newerFormat,
      "the store has format \(format), and this albumfs knows formats up to "
        + "\(StoreConfiguration.format); a newer albumfs is needed", path: main)
  }

  /// Neither file is usable: names the most likely cause.
  private static func refusal(
    _ first: ConfFault, _ second: ConfFault, _ directory: any StorageDirectory
  ) -> StoreError {
    for fault in [first, second] {
      if case .undecodable(.newerFormat(let format, _)) = fault { return newer(format) }
    }
    for fault in [first, second] {
      if case .undecodable(.costRefused(let what)) = fault {
        return StoreError(
          .costRefused,
          "\(main) asks for an absurd cost of Argon2id (\(what)): it was edited or damaged; "
            + "restore it from a backup", path: main)
      }
    }
    for fault in [first, second] {
      if case .undecodable(.malformed) = fault { return altered(first, second) }
    }
    for (path, fault) in [(main, first), (twin, second)] {
      if case .unreadable(let error) = fault { return StoreError(reading: path, error) }
    }
    return notAStore(directory)
  }

  private static func altered(_ first: ConfFault, _ second: ConfFault) -> StoreError {
    StoreError(
      .configurationAltered,
      "neither \(main) (\(first.reason)) nor \(twin) (\(second.reason)) can be used: they were "
        + "edited or damaged; restore one of them from a backup", path: main)
  }

  private static func notAStore(_ directory: any StorageDirectory) -> StoreError {
    let names = (try? directory.list("")) ?? []
    if names.contains(StorePath.unfinished) {
      return StoreError(
        .notAStore,
        "a store was begun here and not finished; make it anew with albumfs init, which removes what there "
          + "is of it", path: main)
    }
    if names.contains(KeyRing.path), names.contains(SegmentPath.root) {
      return StoreError(
        .notAStore,
        "there are \(KeyRing.path) and \(SegmentPath.root) of a store here, but neither \(main) nor "
          + "\(twin); restore one of them from a backup", path: main)
    }
    return StoreError(
      .notAStore, "this is not a store: there is no \(main) of albumfs in it", path: main)
  }

  // MARK: Writing

  /// The last step of a store's birth.
  static func write(
    _ configuration: StoreConfiguration, in directory: any StorageDirectory
  ) throws(StoreError) {
    let bytes = configuration.encode()
    guard (try? StoreConfiguration(decoding: bytes)) == configuration else {
      throw StoreError(
        .damaged, "the new content of \(main) does not decode to the intended configuration",
        path: main)
    }
    try directory.writeNew(twin, bytes)
    try directory.syncDirectoryOfStore()
    try directory.writeNew(main, bytes)
    try directory.syncDirectoryOfStore()
  }

  /// Throws `.inUse` if the confs have changed since `store` was opened. Call it only under the lock of
  /// `keys`.
  static func requireUnchanged(_ store: Store) throws(StoreError) {
    let now = try open(store.directory)
    if now.derivations == store.derivations, now.difference == nil { return }
    throw StoreError(
      .inUse, "\(main) was changed by another albumfs just now; try again", path: main)
  }

  /// Makes the confs equal again if one has all lines of the other and more: a change was cut off between the
  /// two. No password needs a line that only the shorter one has. Throws `.configurationAltered` if they
  /// contradict each other. Call it only under the lock of `keys`.
  static func mend(_ store: Store) throws(StoreError) {
    guard store.difference != nil else { return }
    let now = try open(store.directory)
    if let difference = now.difference {
      guard let longer = difference.longer else { throw contradiction(store) }
      let bytes = now.configuration.encode()
      try overwrite(longer == main ? twin : main, bytes, store.directory)
    }
    store.recordMended()
  }

  private static func contradiction(_ store: Store) -> StoreError {
    guard let right = store.rightConf else {
      return StoreError(
        .configurationAltered,
        "\(main) and \(twin) contradict each other, and this password shows not which is right; restore "
          + "both from a backup before passwords are changed", path: main)
    }
    return StoreError(
      .configurationAltered,
      "\(main) and \(twin) contradict each other; \(right) has the line that this password was set with: "
        + "copy it over \(right == main ? twin : main) before passwords are changed", path: main)
  }

  /// Adds a line to both confs, durably. Call it only under the lock of `keys`.
  ///
  /// It overwrites them in place, one after the other, because processes lock both files. At every instant
  /// one of them is whole. After an interruption they differ in this line; albumfs then reads both, no
  /// slot uses the line yet, and the next change makes them equal (`mend`).
  static func append(_ line: KeyDerivation, to store: Store) throws(StoreError) {
    var configuration = store.configuration
    configuration.derivations = store.derivations + [line]
    let bytes = configuration.encode()
    guard (try? StoreConfiguration(decoding: bytes)) == configuration else {
      throw StoreError(
        .damaged, "the new content of \(main) does not decode to the intended configuration",
        path: main)
    }
    for path in [main, twin] { try overwrite(path, bytes, store.directory) }
    guard case .good(let one) = read(main, store.directory), one == configuration,
      case .good(let other) = read(twin, store.directory), other == configuration
    else {
      throw StoreError(
        .inputOutput,
        "\(main) does not read back as it was written; \(KeyRing.path) was left alone",
        path: main)
    }
    store.recordAppended(line)
  }

  /// The new content is never shorter than the old. Creates a missing file.
  private static func overwrite(
    _ path: String, _ bytes: [UInt8], _ directory: any StorageDirectory
  ) throws(StoreError) {
    let file: any StorageFile
    do throws(Errno) { file = try directory.open(path, .readWrite) } catch {
      if error != .noEntry { throw StoreError(writing: path, error) }
      try directory.writeNew(path, bytes)
      return try directory.syncDirectoryOfStore()
    }
    do throws(Errno) {
      try file.writeAll(bytes)
      try file.setModificationTime(SegmentChecksum.time(ofSmallFile: bytes))
      try file.sync()
    } catch {
      throw StoreError(writing: path, error)
    }
  }

  /// Opens the file for a reader's locks: the twin if the first is missing or misplaced. Creates no file.
  static func openForLocking(reading store: Store, _ access: StorageAccess) throws(Errno)
    -> (path: String, file: any StorageFile)
  {
    do throws(Errno) { return (main, try store.directory.open(main, access)) } catch {
      if error != .noEntry, !error.isMisplaced { throw error }
    }
    return (twin, try store.directory.open(twin, access))
  }

  /// Opens both confs for a writer's locks. Leaves out one that is misplaced, and a twin that is missing or
  /// that this user may not open; `open` has reported them. Every writer locks the first if it is a file.
  static func openForLocking(_ store: Store) throws(Errno)
    -> [(path: String, file: any StorageFile)]
  {
    let first: any StorageFile
    do throws(Errno) { first = try openMain(store) } catch {
      if error.isMisplaced { return [(twin, try store.directory.open(twin, .readWrite))] }
      throw error
    }
    do throws(Errno) {
      return [(main, first), (twin, try store.directory.open(twin, .readWrite))]
    } catch {
      if error == .noEntry || error == .accessDenied || error.isMisplaced {
        return [(main, first)]
      }
      throw error
    }
  }

  /// Creates the file again from its twin if it is missing.
  private static func openMain(_ store: Store) throws(Errno) -> any StorageFile {
    do throws(Errno) { return try store.directory.open(main, .readWrite) } catch {
      if error != .noEntry { throw error }
    }
    let bytes = try store.directory.contents(
      of: twin, limit: StoreConfiguration.maximumByteCount)
    do throws(Errno) {
      let file = try store.directory.open(main, .createNew)
      try file.writeAll(bytes)
      try file.setModificationTime(SegmentChecksum.time(ofSmallFile: bytes))
      try file.sync()
      try store.directory.syncDirectory("")
      return file
    } catch {
      // Another process created it first.
      if error != .exists { throw error }
      return try store.directory.open(main, .readWrite)
    }
  }
}

/// How the Argon2id lines of the two confs differ.
struct ConfDifference: Equatable, Sendable {
  let main: [KeyDerivation]
  let twin: [KeyDerivation]

  /// The file that begins with all lines of the other; nil if there is none.
  var longer: String? {
    if main.starts(with: twin) { return ConfigurationFiles.main }
    return twin.starts(with: main) ? ConfigurationFiles.twin : nil
  }

  /// The only file that has all lines that an unlocked slot knows; nil if both have them, or neither.
  func right(for found: KeySlots.Found) -> String? {
    if let longer { return longer }
    func has(_ lines: [KeyDerivation]) -> Bool {
      let digests = Set(lines.map(\.digest))
      return found.lines.allSatisfy(lines.contains)
        && digests.isSuperset(of: found.content.header.trustedLines.digests)
    }
    return has(main) == has(twin)
      ? nil : has(main) ? ConfigurationFiles.main : ConfigurationFiles.twin
  }
}

extension ConfFault {
  fileprivate var reason: String {
    switch self {
    case .missing: "it is missing"
    case .unreadable(let error): "\(error)"
    case .undecodable(let error): error.reason
    }
  }
}
