import AlbumModel
import ControlProtocol
import Glibc
import PhotoGroups
import Posix

/// Copies the originals of albums into one new zip file and reads them back. Needs no room but that of the
/// file, which gets its name when it is complete and the same; until then, an interruption leaves nothing.
struct ZipExporter {
  private struct Stored {
    let file: SourceWalk.File
    let content: Range<Int64>
    /// Of what was written, unless that is the original.
    var checksum: UInt32?
  }

  private(set) var report = ExportReport()

  private let target: PlainPath
  private let form: ExportForm
  private let showsProgress: Bool
  private let isStopped: () -> Bool
  private var meter: TransferMeter
  private var names: Set<[UInt8]> = []
  private var entries: [ZipFormat.Entry] = []
  private var stored: [Stored] = []
  private var renamed: [RenamedFile] = []

  private static let chunk = 1 << 20

  init(
    to target: String, form: ExportForm = .original, showsProgress: Bool,
    isStopped: @escaping () -> Bool
  ) {
    self.target = PlainPath(MountPath.resolve(target))
    self.form = form
    self.showsProgress = showsProgress
    self.isStopped = isStopped
    meter = TransferMeter(isShown: false, files: 0, bytes: 0, isStopped: isStopped)
  }

  /// Exports what a walk has found. What concerns one file goes into the report; after a failure there is no
  /// zip file.
  mutating func run(_ walk: SourceWalk) throws(Failure) {
    report.errors = walk.problems
    report.hidden = walk.omissions.hidden
    let folder = target.parent
    if (try? PlainEntry(target)) != nil { throw Failure(.usage, "\(target.text) exists already.") }
    // Heads, and names twice.
    let sizes = walk.files.map { $0.entry.size.saturatingAdd(512) }
    let limits = try ExportTarget(folder)
    // How much room other forms need shows only when they are made.
    if form.isOriginal { try limits.require([sizes.saturatingSum], in: folder) }
    if let obstacle = limits.obstacle(
      folders: [target.name].compactMap(\.self), name: .photo, size: sizes.saturatingSum)
    {
      throw Failure(.usage, "\(target.text) cannot be written: \(obstacle).")
    }
    meter = TransferMeter(
      isShown: showsProgress, files: walk.files.count, bytes: walk.bytes.saturatingAdd(walk.bytes),
      isStopped: isStopped)
    defer { meter.clear() }
    let partial = PartialFile.path(in: folder, process: getpid())
    PartialFile.clean(folder, process: getpid())
    do throws(Failure) {
      try write(walk.files, to: partial)
      try compare(partial)
      try onTarget { () throws(Errno) in try PlainFiles.rename(partial, to: target) }
      try onTarget { () throws(Errno) in try PlainFiles.synchronize(folder) }
    } catch {
      try? PathCalls.removeFile(partial)
      throw error
    }
    report.exported = stored.count
    report.bytes = stored.lazy.map { Int64($0.content.count) }.saturatingSum
    report.renamed = renamed
    report.complete = true
  }

  private static let stopped = Failure(.interrupted, "Interrupted. No zip file was made.")

  private mutating func write(_ files: [SourceWalk.File], to path: PlainPath) throws(Failure) {
    var zip = try create(path)
    for group in TransferGroup.groups(of: files) {
      if isStopped() { throw ZipExporter.stopped }
      let number = number(for: group)
      for item in group.items {
        let start = meter.position
        try write(item, number, to: &zip)
        meter.finishFile(at: start.saturatingAdd(item.file.entry.size))
      }
    }
    let start = zip.end
    do throws(Errno) {
      for entry in entries { try zip.append(ZipFormat.directoryEntry(of: entry)) }
      try zip.append(ZipFormat.end(count: entries.count, directory: start..<zip.end))
      try zip.synchronize()
    } catch {
      throw writing(error)
    }
  }

  private mutating func write(
    _ item: TransferGroup.Item, _ number: Int, to zip: inout PlainWriter
  ) throws(Failure) {
    let before = zip.end
    var derived: DerivedFile?
    if !form.isOriginal {
      switch try form.derive(item.file) {
      case .success(let made): derived = made
      case .failure(let refusal):
        report.errors.append(TransferProblem(item.file.path, refusal.reason))
        return
      }
    }
    do throws(PlainCopy.Fault) {
      if let derived { try store(derived, in: &zip) } else { try store(item, number, in: &zip) }
    } catch {
      try onTarget { () throws(Errno) in try zip.cut(to: before) }
      try judge(error, of: item.file)
    }
  }

  private func create(_ path: PlainPath) throws(Failure) -> PlainWriter {
    do throws(Errno) { return try PlainWriter(path) } catch { throw writing(error) }
  }

  /// Writes a file and its head, which gets the checksum afterwards.
  private mutating func store(
    _ item: TransferGroup.Item, _ number: Int, in zip: inout PlainWriter
  ) throws(PlainCopy.Fault) {
    let file = item.file
    let reader = try open(file.path)
    let before: PlainEntry
    do throws(Errno) { before = try PlainEntry(file.path) } catch { throw .source(error) }
    let name = item.name.numbered(number)
    let whole = path(name, of: file)
    var entry = ZipFormat.Entry(
      name: whole, modified: before.modified, permissions: before.permissions, offset: zip.end,
      size: before.size)
    try append(ZipFormat.head(of: entry), to: &zip)
    let start = zip.end
    var checksum = CRC32()
    while true {
      let bytes: [UInt8]
      do throws(Errno) {
        bytes = try reader.bytes(ZipExporter.chunk, at: zip.end - start)
      } catch {
        throw .source(error)
      }
      if bytes.isEmpty { break }
      checksum.add(bytes[...])
      try append(bytes, to: &zip)
      if !meter.advance(Int64(bytes.count)) { throw .stopped }
      if zip.end - start > before.size { throw .changed }
    }
    if zip.end - start != before.size { throw .changed }
    entry.checksum = checksum.value
    do throws(Errno) { try zip.write(ZipFormat.head(of: entry), at: entry.offset) } catch {
      throw .target(error)
    }
    names.insert(whole)
    entries.append(entry)
    stored.append(Stored(file: file, content: start..<zip.end))
    if name != file.name { renamed.append(RenamedFile(file.path, name)) }
  }

  /// Does the same for a file in another form, whose size is known.
  private mutating func store(
    _ derived: DerivedFile, in zip: inout PlainWriter
  ) throws(PlainCopy.Fault) {
    let file = derived.file
    let (name, whole) = freeName(derived.name, file)
    var entry = ZipFormat.Entry(
      name: whole, modified: file.entry.modified, permissions: file.entry.permissions,
      offset: zip.end, size: derived.size)
    try append(ZipFormat.head(of: entry), to: &zip)
    let start = zip.end
    var checksum = CRC32()
    try derived.each { bytes throws(PlainCopy.Fault) in
      checksum.add(bytes[...])
      try append(bytes, to: &zip)
      if !meter.advance(Int64(bytes.count)) { throw .stopped }
    }
    entry.checksum = checksum.value
    do throws(Errno) { try zip.write(ZipFormat.head(of: entry), at: entry.offset) } catch {
      throw .target(error)
    }
    names.insert(whole)
    entries.append(entry)
    stored.append(Stored(file: file, content: start..<zip.end, checksum: checksum.value))
    if name != derived.name { renamed.append(RenamedFile(file.path, name)) }
  }

  private func open(_ path: PlainPath) throws(PlainCopy.Fault) -> PlainReader {
    do throws(Errno) { return try PlainReader(path) } catch { throw .source(error) }
  }

  /// The first number with which no name of a group is taken.
  private func number(for group: TransferGroup) -> Int {
    var number = 1
    while group.items.contains(where: {
      names.contains(path($0.name.numbered(number), of: $0.file))
    }) {
      number += 1
    }
    return number
  }

  private func freeName(
    _ wanted: FileName, _ file: SourceWalk.File
  ) -> (name: FileName, whole: [UInt8]) {
    var number = 1
    while true {
      let name = NumberedName.of(wanted, number)
      let whole = path(name, of: file)
      if !names.contains(whole) { return (name, whole) }
      number += 1
    }
  }

  private func path(_ name: FileName, of file: SourceWalk.File) -> [UInt8] {
    Array((file.folders + [name]).map(\.bytes).joined(separator: "/".utf8))
  }

  private func append(_ bytes: [UInt8], to zip: inout PlainWriter) throws(PlainCopy.Fault) {
    do throws(Errno) { try zip.append(bytes) } catch { throw .target(error) }
  }

  /// Reads the content of all files back.
  private mutating func compare(_ path: PlainPath) throws(Failure) {
    for stored in stored {
      do throws(PlainCopy.Fault) {
        if try isIntact(stored, in: path) { continue }
      } catch {
        if error == .stopped { try judge(error, of: stored.file) }
        throw Failure(
          .other, "\(stored.file.path.text.printable) cannot be compared: \(error.errno).")
      }
      throw Failure(
        .other, "The copy of \(stored.file.path.text.printable) differs, so no zip file was made.")
    }
  }

  private mutating func isIntact(
    _ stored: Stored, in path: PlainPath
  ) throws(PlainCopy.Fault) -> Bool {
    guard let sum = stored.checksum else {
      return try PlainCopy.isEqual(stored.file.path, path, part: stored.content) {
        meter.advance($0)
      }
    }
    var checksum = CRC32()
    try PlainCopy.readBack(path, part: stored.content) { piece in
      checksum.add(piece[...])
      return meter.advance(Int64(piece.count))
    }
    return checksum.value == sum
  }

  // MARK: Errors

  private mutating func judge(
    _ fault: PlainCopy.Fault, of file: SourceWalk.File
  ) throws(Failure) {
    switch fault {
    case .stopped: throw ZipExporter.stopped
    case .source(let error): if let failure = Failure(ofDeadSpace: error) { throw failure }
    case .target(let error): throw writing(error)
    case .changed: break
    }
    report.errors.append(TransferProblem(file.path, try fault.reason()))
  }

  private func writing(_ error: Errno) -> Failure {
    Failure(ofTarget: error) ?? Failure(.other, "\(target.text) cannot be written: \(error).")
  }

  private func onTarget(_ body: () throws(Errno) -> Void) throws(Failure) {
    do throws(Errno) { try body() } catch { throw writing(error) }
  }
}
