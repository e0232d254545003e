import CGalleryPages
import HTTPTypes
import Hummingbird
import NIOCore

/// The files of the page, which are in the program itself.
enum PageFiles {
  struct File: Sendable {
    /// `/` for the page, `/NAME` for what it loads.
    var path: String
    var type: String
    var bytes: ByteBuffer
  }

  static let all: [File] = (0..<gallery_page_count()).map { number in
    let name = unsafe String(cString: gallery_page_name(number))
    let bytes = unsafe UnsafeBufferPointer(
      start: gallery_page_bytes(number), count: Int(gallery_page_size(number)))
    return File(
      path: name == "index.html" ? "/" : "/\(name)", type: type(of: name),
      bytes: unsafe ByteBuffer(bytes: bytes))
  }

  private static func type(of name: String) -> String {
    let type =
      switch name.split(separator: ".").last {
      case "html": "text/html"
      case "js": "text/javascript"
      case "css": "text/css"
      case "svg": "image/svg+xml"
      default: "text/plain"
      }
    return "\(type); charset=utf-8"
  }

  static func response(_ file: File) -> Response {
    Response(
      status: .ok, headers: [.contentType: file.type], body: ResponseBody(byteBuffer: file.bytes))
  }
}
