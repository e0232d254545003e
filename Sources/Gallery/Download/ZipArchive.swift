import AlbumModel
import CArchive
import Posix

/// Writes a zip file piece by piece (libarchive): stored, with names in UTF-8, of any size. The caller takes
/// the bytes that each call makes, so no part of the file is kept.
///
/// @unchecked because only one call at a time uses it.
@safe
final class ZipArchive: @unchecked Sendable {
  private let archive: OpaquePointer
  private let output = Output()

  /// Where libarchive's callback puts bytes.
  private final class Output {
    var bytes: [UInt8] = []
  }

  struct Failed: Error {}

  init() throws(Failed) {
    guard let made = unsafe archive_write_new() else { throw Failed() }
    unsafe archive = made
    let place = unsafe Unmanaged.passUnretained(output).toOpaque()
    let isOpen =
      unsafe archive_write_set_format_zip(made) == ARCHIVE_OK
      && archive_write_zip_set_compression_store(made) == ARCHIVE_OK
      && archive_write_set_options(made, "hdrcharset=UTF-8") == ARCHIVE_OK
      && archive_write_set_bytes_per_block(made, 0) == ARCHIVE_OK
      && archive_write_open(
        made, place, nil,
        { _, place, bytes, count in
          let output = unsafe Unmanaged<Output>.fromOpaque(place!).takeUnretainedValue()
          unsafe output.bytes += UnsafeRawBufferPointer(start: bytes, count: count)
          return count
        }, nil) == ARCHIVE_OK
    if !isOpen { throw Failed() }
  }

  deinit { unsafe _ = archive_write_free(archive) }

  /// Begins a file of so many bytes.
  func begin(_ path: String, size: Int64, modified: Timestamp) throws(Failed) {
    guard let entry = unsafe archive_entry_new() else { throw Failed() }
    defer { unsafe archive_entry_free(entry) }
    unsafe archive_entry_set_pathname_utf8(entry, path)
    unsafe archive_entry_set_size(entry, size)
    unsafe archive_entry_set_filetype(entry, 0o100000)
    unsafe archive_entry_set_perm(entry, 0o644)
    unsafe archive_entry_set_mtime(entry, Int(modified.seconds), 0)
    if unsafe archive_write_header(archive, entry) != ARCHIVE_OK { throw Failed() }
  }

  func append(_ bytes: [UInt8]) throws(Failed) {
    let written = unsafe bytes.withUnsafeBytes {
      unsafe archive_write_data(archive, $0.baseAddress, $0.count)
    }
    if written < 0 { throw Failed() }
  }

  func end() throws(Failed) {
    if unsafe archive_write_close(archive) != ARCHIVE_OK { throw Failed() }
  }

  /// The bytes that were made since the last call.
  func take() -> [UInt8] {
    defer { output.bytes = [] }
    return output.bytes
  }
}
