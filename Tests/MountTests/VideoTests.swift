import AlbumTestSupport
import Foundation
import Testing

/// Videos in a mounted album.
@Suite(.serialized) struct VideoTests {
  @Test func aVideoHasAThumbnailUnderItsNameAndTellsItsDuration() throws {
    try MountedStore.use { mounted in
      let video = try TestVideos.mp4("-metadata", "creation_time=2021-05-06T07:08:09Z")
      try mounted.write(Data(video), "video.mp4")
      try mounted.sh("mkdir $M/A; cp $W/video.mp4 $M/A/Photo/IMG_1.MOV")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == "IMG_1.MOV")
      let status = try mounted.sh("albumfs status $M")
      #expect(status.contains("0 photos, 1 video"), "\(status)")
      #expect(try mounted.sh("head -c 3 $M/A/Thumb/IMG_1.MOV | od -An -tx1") == " ff d8 ff")
      try mounted.sh("cmp $W/video.mp4 $M/A/Photo/IMG_1.MOV")
      let attributes = try mounted.sh(
        "getfattr --only-values -n user.albumfs.duration $M/A/Photo/IMG_1.MOV")
      #expect(attributes == "2.000")
      #expect(try mounted.sh("albumfs list-photos $M/A | cut -f5") == "2.000")
      #expect(
        try mounted.sh("albumfs list-photos --json $M/A | grep -c '\"duration\" *: *2'") == "1")
      let dimensions = try mounted.sh(
        "getfattr --only-values -n user.albumfs.dimensions $M/A/Photo/IMG_1.MOV")
      #expect(dimensions == "640x400")
      let taken = try mounted.sh(
        "getfattr --only-values -n user.albumfs.taken $M/A/Photo/IMG_1.MOV")
      #expect(taken == "2021-05-06T07:08:09+00:00")
      let marked = try mounted.sh("md5sum < $M/A/Thumb/IMG_1.MOV")
      try mounted.remount(["--no-video-mark"])
      try mounted.sh("albumfs thumbs -q --all $M")
      try mounted.sync()
      #expect(try mounted.sh("md5sum < $M/A/Thumb/IMG_1.MOV") != marked)
      // Other content, other facts.
      try mounted.sh("echo text > $M/A/Photo/IMG_1.MOV")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == "")
      try mounted.sh("! getfattr -n user.albumfs.duration $M/A/Photo/IMG_1.MOV 2>/dev/null")
    }
  }

  @Test func withoutTheProgramForVideosAllElseWorksAndTheStatusSaysSo() throws {
    try MountedStore.use { mounted in
      try mounted.makePictures()
      try mounted.write(Data(try TestVideos.mp4()), "video.mp4")
      try mounted.remount(["--video-thumbnailer", "/nowhere"])
      try mounted.sh("mkdir $M/A; cp $W/video.mp4 \"$W/pictures/orientation 1.jpg\" $M/A/Photo/")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb") == "orientation 1.jpg")
      #expect(
        try mounted.sh("albumfs status $M").contains("none of videos: no albumfs-video-thumbnailer")
      )
      #expect(try mounted.sh("albumfs status --json $M").contains("noneOfVideos"))
      try mounted.remount()
      #expect(!(try mounted.sh("albumfs status $M").contains("none of videos")))
      try mounted.sh("albumfs thumbs -q $M")
      try mounted.sync()
      #expect(try mounted.sh("ls $M/A/Thumb | wc -l") == "2")
    }
  }
}
