import AlbumModel
import Posix

/// Shows how far an import or an export is: files, bytes and the time left. Knows whether it shall stop.
struct TransferMeter {
  private let bar: ProgressBar
  private let files: Int
  private var total: Int64
  private var doneFiles = 0
  private var doneBytes: Int64 = 0

  /// True once the user wants the command to stop.
  let isStopped: () -> Bool

  /// - Parameters:
  ///   - bytes: how many will be copied, and compared.
  init(isShown: Bool, files: Int, bytes: Int64, isStopped: @escaping () -> Bool) {
    bar = ProgressBar("Copying", isShown: isShown)
    (self.files, total) = (files, bytes)
    self.isStopped = isStopped
    show()
  }

  /// Counts bytes of the file at hand; returns false if the command shall stop.
  mutating func advance(_ bytes: Int64) -> Bool {
    doneBytes += bytes
    show()
    return !isStopped()
  }

  /// More bytes will come than was known.
  mutating func expect(_ bytes: Int64) { total = total.saturatingAdd(bytes) }

  /// Counts a file as dealt with. `bytes` is where the count of bytes stands then, whatever was read of it.
  mutating func finishFile(at bytes: Int64) {
    doneFiles += 1
    doneBytes = bytes
    show()
  }

  var position: Int64 { doneBytes }

  func clear() { bar.clear() }

  private func show() {
    bar.show(min(doneBytes, total), of: total, "\(doneFiles) of \(counted(files, "file"))")
  }
}
