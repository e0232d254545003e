import AlbumModel
import ControlProtocol
import Fetching
import Posix

// Pictures from the web: the program albumfs-fetch loads them into a hidden file of the album.

extension Importer {
  /// Loads a picture from the web, and then treats it like the file of a zip file.
  mutating func fetch(_ url: RemoteURL) throws(Failure) {
    let source = PlainPath(url.text)
    do throws(PlainCopy.Fault) {
      if !options.byDate, !options.topIsAlbum { throw .target(.topOfSpace) }
      let place = try loadingPlace()
      let folder: Folder
      do throws(Errno) { folder = try Folder(place.text) } catch { throw .target(error) }
      RemoteDownload.removeStale(in: folder)
      guard let (loaded, partial) = try load(url, folder) else { return }
      let path = place.appending(partial)
      do throws(PlainCopy.Fault) {
        let entry: PlainEntry
        do throws(Errno) { entry = try PlainEntry(path) } catch { throw .target(error) }
        let file = SourceWalk.File(path: path, name: loaded.name, folders: [], entry: entry)
        let album = try album(of: TransferGroup(file))
        try settle(
          SourceWalk.File(path: source, name: loaded.name, folders: [], entry: entry),
          content: path, size: loaded.size, in: album)
      } catch {
        try? PathCalls.removeFile(path)
        throw error
      }
    } catch {
      if case .target(.topOfSpace) = error {
        return fail(source, "the top of a space holds albums and no photos")
      }
      if case .target(let error) = error, let failure = Failure(ofSpace: error) { throw failure }
      fail(source, try error.reason())
    }
    meter.finishFile(at: meter.position)
  }

  /// The folder for what is being loaded. The day of a picture shows when it is there.
  private mutating func loadingPlace() throws(PlainCopy.Fault) -> PlainPath {
    do throws(Errno) {
      let top = try albums.path(of: [])
      if !options.topIsAlbum { return top }
      if contents[top] == nil { try albums.makePhoto(of: top) }
      return top.appending(.photo)
    } catch {
      throw .target(error)
    }
  }

  /// nil if nothing came; the report says why.
  private mutating func load(
    _ url: RemoteURL, _ folder: borrowing Folder
  ) throws(PlainCopy.Fault) -> (RemoteDownload.Loaded, FileName)? {
    let source = PlainPath(url.text)
    guard let program = surroundings.fetch else {
      fail(source, "the program albumfs-fetch is missing: install it beside albumfs")
      return nil
    }
    let download = RemoteDownload(program: program, isPublicOnly: false, limit: options.urlLimit)
    var expected: Int64?
    var seen: Int64 = 0
    do throws(RemoteDownload.Fault) {
      return try download.run(url, in: folder) { bytes, total in
        if expected == nil, let total {
          meter.expect(total)
          expected = total
        }
        // A file that begins anew takes its bytes back.
        let more = bytes - seen
        seen = bytes
        return meter.advance(more)
      }
    } catch {
      switch error {
      case .stopped: throw .stopped
      case .target(let error): throw .target(error)
      default:
        fail(source, error.reason)
        return nil
      }
    }
  }
}
