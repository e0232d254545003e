import AlbumModel
import AlbumTestSupport
import Foundation
import Posix
import ThumbnailProtocol
import Thumbnails

/// Photos in memory, given out in order, and the outcome of each.
final class TestSource: PhotoSource {
  enum Answer: Equatable {
    case thumbnail([UInt8])
    case failed(ThumbnailFailure)
  }

  struct Photo: Sendable {
    var bytes: [UInt8]
    /// The result of `size`, if it differs from the number of bytes.
    var claimedSize: Int64?
    /// Reads from this offset on report that the photo has changed.
    var changesAt: Int?
  }

  private struct State {
    var photos: [UInt64: Photo] = [:]
    var waiting: [UInt64] = []
    var answers: [UInt64: Answer] = [:]
    var bytesRead: [UInt64: Int] = [:]
    var attempts: [UInt64: Int] = [:]
    var gone: Set<UInt64> = []
    var share = ProcessorShare.ordinary
    var isCopying = false
    var looks = 0
  }

  private let state = Mutex(State(), rank: .test)
  let thumbnailEdge: Int
  /// The most bytes that one read returns.
  let readLimit: Int

  init(edge: Int = 512, readLimit: Int = .max) {
    thumbnailEdge = edge
    self.readLimit = readLimit
  }

  /// Adds a photo at the end of the queue. Its number is that of its inode.
  func add(_ number: UInt64, _ bytes: [UInt8], claimedSize: Int64? = nil, changesAt: Int? = nil) {
    state.withLock {
      $0.photos[number] = Photo(bytes: bytes, claimedSize: claimedSize, changesAt: changesAt)
      $0.waiting.append(number)
    }
  }

  /// Removes a photo, as a user does.
  func remove(_ number: UInt64) { state.withLock { $0.photos[number] = nil } }

  func answer(for number: UInt64) -> Answer? { state.withLock { $0.answers[number] } }
  func bytesRead(of number: UInt64) -> Int { state.withLock { $0.bytesRead[number] ?? 0 } }
  /// The number of times that the queue has begun with the photo.
  func attempts(at number: UInt64) -> Int { state.withLock { $0.attempts[number] ?? 0 } }
  func isGone(_ number: UInt64) -> Bool { state.withLock { $0.gone.contains(number) } }

  /// Waits for the answer.
  func awaitAnswer(for number: UInt64) -> Answer? {
    _ = eventually { answer(for: number) != nil }
    return answer(for: number)
  }

  /// Waits until the queue has requested the photo and learned that it is gone.
  func awaitGone(_ number: UInt64) -> Bool { eventually { isGone(number) } }

  func share(for photo: PhotoVersion) -> ProcessorShare { state.withLock { $0.share } }

  /// Changes the share of all photos.
  func setShare(_ share: ProcessorShare) { state.withLock { $0.share = share } }

  /// A program begins or ends to copy photos.
  func setCopying(_ isCopying: Bool) { state.withLock { $0.isCopying = isCopying } }
  /// The number of times that the queue has asked.
  var looksAtCopies: Int { state.withLock { $0.looks } }
  var copiesGoFirst: Bool {
    state.withLock { state in
      state.looks += 1
      return state.isCopying
    }
  }

  var arrivals: Int { state.withLock { $0.photos.count } }

  func nextPhoto() -> PhotoVersion? {
    state.withLock { state in
      if state.waiting.isEmpty { return nil }
      return PhotoVersion(inode: InodeNumber(state.waiting.removeFirst()), version: 1)
    }
  }

  func size(of photo: PhotoVersion) -> Int64? {
    state.withLock { state in
      guard let found = state.photos[photo.inode.rawValue] else {
        precondition(
          state.gone.insert(photo.inode.rawValue).inserted, "asked for a photo that is done")
        return nil
      }
      return found.claimedSize ?? Int64(found.bytes.count)
    }
  }

  func read(_ photo: PhotoVersion, into buffer: UnsafeMutableRawBufferPointer, at offset: Int64)
    -> Int?
  {
    let number = photo.inode.rawValue
    let part: [UInt8]? = state.withLock { state in
      if offset == 0 { state.attempts[number, default: 0] += 1 }
      guard let found = state.photos[number] else {
        state.gone.insert(number)
        return nil
      }
      let end = min(Int(offset) + min(buffer.count, readLimit), found.bytes.count)
      if let limit = found.changesAt, end > limit {
        state.gone.insert(number)
        return nil
      }
      state.bytesRead[number, default: 0] += max(0, end - Int(offset))
      return Int(offset) < end ? Array(found.bytes[Int(offset)..<end]) : []
    }
    guard let part else { return nil }
    unsafe buffer.copyBytes(from: part)
    // A record's header overwrites the bytes before the buffer like this.
    unsafe (buffer.baseAddress! - ReadHeadroom.byteCount).initializeMemory(
      as: UInt8.self, repeating: 0xee, count: ReadHeadroom.byteCount)
    return part.count
  }

  func finish(_ photo: PhotoVersion, thumbnail: [UInt8], facts: PictureFacts) {
    record(photo, .thumbnail(thumbnail))
  }

  func fail(_ photo: PhotoVersion, reason: ThumbnailFailure) { record(photo, .failed(reason)) }

  private func record(_ photo: PhotoVersion, _ answer: Answer) {
    state.withLock { state in
      precondition(state.answers[photo.inode.rawValue] == nil, "answered twice")
      state.answers[photo.inode.rawValue] = answer
    }
  }
}
