import AlbumModel
import ControlProtocol
import Glibc
import PhotoGroups
import Posix

/// Copies the originals of albums into a folder, and reads each copy back. A copy gets its name when it is
/// complete, so an interruption leaves no half of one. Run it again to continue: it skips what is there with
/// the same content. A name that is taken by other content gets a number.
struct Exporter {
  private struct WaitingCopy {
    let file: SourceWalk.File
    let path: PlainPath
    let newName: FileName?
    /// Of what was written, unless that is the original.
    var derived: (size: Int64, checksum: UInt32)?
  }

  private(set) var report = ExportReport()

  private let target: PlainPath
  private let form: ExportForm
  private let showsProgress: Bool
  private let isStopped: () -> Bool
  private var meter: TransferMeter
  private var folders: Set<[FileName]> = []
  /// Copies that wait for the next sync, after which they are read back.
  private var waiting: [WaitingCopy] = []
  private var waitingBytes: Int64 = 0

  private static let batchBytes: Int64 = 256 << 20
  private static let batchFiles = 500

  /// `target` is a directory.
  init(
    to target: String, form: ExportForm = .original, showsProgress: Bool,
    isStopped: @escaping () -> Bool
  ) {
    self.target = PlainPath(target)
    self.form = form
    self.showsProgress = showsProgress
    self.isStopped = isStopped
    meter = TransferMeter(isShown: false, files: 0, bytes: 0, isStopped: isStopped)
  }

  /// Exports what a walk has found. What concerns one file goes into the report; a failure ends the export
  /// early, and the report holds what was done before.
  mutating func run(_ walk: SourceWalk) throws(Failure) {
    report.errors = walk.problems
    report.hidden = walk.omissions.hidden
    let limits = try ExportTarget(target)
    let files = walk.files.filter { file in
      let (name, size) = (file.name, file.entry.size)
      let obstacle = limits.obstacle(folders: file.folders, name: name, size: size)
      if let obstacle { fail(file.path, obstacle) }
      return obstacle == nil
    }
    // How much room other forms need shows only when they are made.
    if form.isOriginal {
      let missing = files.filter { (try? PlainEntry(place($0)))?.size != $0.entry.size }
      try limits.require(missing.map(\.entry.size), in: target)
    }
    meter = TransferMeter(
      isShown: showsProgress, files: files.count, bytes: walk.bytes.saturatingAdd(walk.bytes),
      isStopped: isStopped)
    defer { meter.clear() }
    do throws(Failure) {
      for group in TransferGroup.groups(of: files) {
        if isStopped() { throw Failure.stopped }
        var end = meter.position
        let number = form.isOriginal ? try number(for: group) : 1
        for item in group.items {
          let file = item.file
          if form.isOriginal { try take(item, from: number) } else { try takeDerived(file) }
          end = end.saturatingAdd(file.entry.size)
          meter.finishFile(at: end)
        }
        let isFull = waitingBytes >= Exporter.batchBytes || waiting.count >= Exporter.batchFiles
        if isFull { try verifyCopies() }
      }
      try verifyCopies()
    } catch {
      if error.kind == .diskFull { try? verifyCopies() }
      throw error
    }
    report.complete = true
  }

  private func folder(_ folders: [FileName]) -> PlainPath {
    folders.reduce(target) { $0.appending($1) }
  }

  private func place(_ file: SourceWalk.File) -> PlainPath {
    folder(file.folders).appending(file.name)
  }

  /// The first number with which each name of a group is free, or that of a file with the same content.
  private mutating func number(for group: TransferGroup) throws(Failure) -> Int {
    var number = 1
    while try !isFree(number, for: group) { number += 1 }
    return number
  }

  private mutating func isFree(_ number: Int, for group: TransferGroup) throws(Failure) -> Bool {
    // The name of a file that stands alone is looked for when it is copied.
    if group.items.count == 1 { return true }
    for item in group.items {
      do throws(PlainCopy.Fault) {
        if try !isFree(item.name.numbered(number), for: item.file) { return false }
      } catch {
        // A file that cannot be read is named when it is copied.
        if error == .stopped { try judge(error, of: item.file) }
      }
    }
    return true
  }

  private func isFree(
    _ name: FileName, for file: SourceWalk.File
  ) throws(PlainCopy.Fault) -> Bool {
    let path = folder(file.folders).appending(name)
    guard let there = try? PlainEntry(path) else { return true }
    return try isCopy(path, there, of: file)
  }

  private func isCopy(
    _ path: PlainPath, _ there: PlainEntry, of file: SourceWalk.File
  ) throws(PlainCopy.Fault) -> Bool {
    guard there.kind == .file, there.size == file.entry.size else { return false }
    let isStopped = isStopped
    return try PlainCopy.isEqual(file.path, path, watch: { _ in !isStopped() })
  }

  private mutating func take(_ item: TransferGroup.Item, from first: Int) throws(Failure) {
    let file = item.file
    do throws(PlainCopy.Fault) {
      do throws(Errno) { try makeFolders(file.folders) } catch { throw .target(error) }
      let folder = folder(file.folders)
      for number in first...Int.max {
        let name = item.name.numbered(number)
        let path = folder.appending(name)
        if let there = try? PlainEntry(path) {
          guard try isCopy(path, there, of: file) else { continue }
          report.present += 1
          return
        } else if try copy(file, to: path, in: folder, newName: number == 1 ? nil : name) {
          return
        }
      }
    } catch {
      try judge(error, of: file)
    }
  }

  /// Writes a file in another form than the original, and only then looks whether the target has it.
  private mutating func takeDerived(_ file: SourceWalk.File) throws(Failure) {
    let derived: DerivedFile
    switch try form.derive(file) {
    case .success(let made): derived = made
    case .failure(let refusal): return fail(file.path, refusal.reason)
    }
    let folder = folder(file.folders)
    let partial = PartialFile.path(in: folder, process: getpid())
    do throws(PlainCopy.Fault) {
      do throws(Errno) { try makeFolders(file.folders) } catch { throw .target(error) }
      let checksum = try derived.write(to: partial) { meter.advance($0) }
      do throws(PlainCopy.Fault) { try publish(partial, derived, checksum, in: folder) } catch {
        try? PathCalls.removeFile(partial)
        throw error
      }
    } catch {
      try judge(error, of: file)
    }
  }

  private mutating func publish(
    _ partial: PlainPath, _ derived: DerivedFile, _ checksum: UInt32, in folder: PlainPath
  ) throws(PlainCopy.Fault) {
    let isStopped = isStopped
    for number in 1...Int.max {
      let name = NumberedName.of(derived.name, number)
      let path = folder.appending(name)
      if let there = try? PlainEntry(path) {
        guard there.kind == .file, there.size == derived.size,
          try PlainCopy.isEqual(partial, path, watch: { _ in !isStopped() })
        else { continue }
        try? PathCalls.removeFile(partial)
        report.present += 1
        return
      }
      do throws(Errno) { try PlainFiles.rename(partial, to: path) } catch {
        // Another program has taken the name.
        if error == .exists { continue }
        throw .target(error)
      }
      waiting.append(
        WaitingCopy(
          file: derived.file, path: path, newName: number == 1 ? nil : name,
          derived: (derived.size, checksum)))
      waitingBytes = waitingBytes.saturatingAdd(derived.size)
      return
    }
  }

  /// Returns false if another program has taken the name.
  private mutating func copy(
    _ file: SourceWalk.File, to path: PlainPath, in folder: PlainPath, newName: FileName?
  ) throws(PlainCopy.Fault) -> Bool {
    let partial = PartialFile.path(in: folder, process: getpid())
    let entry = try PlainCopy.make(partial, from: file.path) { meter.advance($0) }
    do throws(Errno) { try PlainFiles.rename(partial, to: path) } catch {
      try? PathCalls.removeFile(partial)
      if error == .exists { return false }
      throw .target(error)
    }
    waiting.append(WaitingCopy(file: file, path: path, newName: newName))
    waitingBytes = waitingBytes.saturatingAdd(entry.size)
    return true
  }

  private mutating func makeFolders(_ names: [FileName]) throws(Errno) {
    for depth in 0...names.count {
      let part = Array(names.prefix(depth))
      if folders.contains(part) { continue }
      if depth > 0 {
        do throws(Errno) { try PlainFiles.makeDirectory(folder(part), permissions: 0o777) } catch {
          if error != .exists { throw error }
        }
      }
      PartialFile.clean(folder(part), process: getpid())
      folders.insert(part)
    }
  }

  /// Waits until the copies are on disk, and reads them back.
  private mutating func verifyCopies() throws(Failure) {
    let copies = waiting
    (waiting, waitingBytes) = ([], 0)
    do throws(Errno) { try PlainFiles.synchronizeFileSystem(of: target) } catch {
      throw Failure(ofTarget: error)
        ?? Failure(.other, "\(target.text) cannot be synced: \(error).")
    }
    for copy in copies {
      do throws(PlainCopy.Fault) {
        if try !isIntact(copy) {
          fail(
            copy.file.path,
            "its copy differs: remove \(copy.path.text.printable), and export it again")
          continue
        }
        report.exported += 1
        report.bytes = report.bytes.saturatingAdd(copy.derived?.size ?? copy.file.entry.size)
        if let name = copy.newName {
          report.renamed.append(RenamedFile(copy.file.path, name))
        }
      } catch {
        try judge(error, of: copy.file)
      }
    }
  }

  /// Reads a copy back.
  private mutating func isIntact(_ copy: WaitingCopy) throws(PlainCopy.Fault) -> Bool {
    guard let (size, sum) = copy.derived else {
      return try PlainCopy.isEqual(copy.file.path, copy.path, watch: { meter.advance($0) })
    }
    var checksum = CRC32()
    var length: Int64 = 0
    try PlainCopy.readBack(copy.path) { piece in
      checksum.add(piece[...])
      length += Int64(piece.count)
      return meter.advance(Int64(piece.count))
    }
    return length == size && checksum.value == sum
  }

  private mutating func judge(
    _ fault: PlainCopy.Fault, of file: SourceWalk.File
  ) throws(Failure) {
    switch fault {
    case .source(let error): if let failure = Failure(ofDeadSpace: error) { throw failure }
    case .target(let error): if let failure = Failure(ofTarget: error) { throw failure }
    case .stopped, .changed: break
    }
    fail(file.path, try fault.reason())
  }

  private mutating func fail(_ path: PlainPath, _ reason: String) {
    report.errors.append(TransferProblem(path, reason))
  }
}
