import ControlProtocol
import FoundationEssentials
import Gallery
import Glibc
import Posix

// `albumfs serve` starts this program with its order as the only argument.
GalleryApplication.prepareProcess()
guard CommandLine.arguments.count == 2,
  let launch = try? JSONDecoder().decode(
    GalleryLaunch.self, from: Data(CommandLine.arguments[1].utf8))
else {
  StandardOutput.writeError("albumfs-gallery belongs to albumfs; start it with: albumfs serve\n")
  exit(1)
}
do {
  try await GalleryApplication(launch).run()
} catch {
  StandardOutput.writeError("albumfs-gallery: \(error)\n")
  exit((error as? GalleryApplication.Problem)?.exitCode ?? 11)
}
