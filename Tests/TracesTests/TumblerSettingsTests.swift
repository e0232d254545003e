import Testing
import Traces

/// tumbler's settings change in the lines `Excludes=` alone, and an undo brings every byte back.
@Suite struct TumblerSettingsTests {
  private static let usual = """
    # Excludes=of a comment
    [JPEGThumbnailer]
    Disabled=false
    Excludes=
    MaxFileSize=0

    # The next plugin
    [PixbufThumbnailer]
    Excludes = /mnt;~/Secret;
    Disabled=false

    [Other]
    Priority=1

    """

  @Test func everyPluginLeavesADirectoryAloneUntilItIsTakenBack() {
    var settings = TumblerSettings(Self.usual)
    settings.exclude("/home/a/My Album")
    #expect(settings.excludes("/home/a/My Album") && !settings.excludes("/home/a/My Album2"))
    #expect(
      settings.text == """
        # Excludes=of a comment
        [JPEGThumbnailer]
        Disabled=false
        Excludes=/home/a/My Album;
        MaxFileSize=0

        # The next plugin
        [PixbufThumbnailer]
        Excludes = /mnt;~/Secret;/home/a/My Album;
        Disabled=false

        [Other]
        Priority=1
        Excludes=/home/a/My Album;

        """)
    let once = settings
    settings.exclude("/home/a/My Album")
    #expect(settings == once)
    settings.include("/home/a/My Album")
    #expect(settings.text.replacing("Priority=1\nExcludes=\n", with: "Priority=1\n") == Self.usual)
  }

  @Test func separatorsInNamesAreNotThoseOfTheList() {
    var settings = TumblerSettings("[A]\nExcludes=/a\\;b;/c")
    #expect(settings.excludes("/a;b") && settings.excludes("/c") && !settings.excludes("/a"))
    settings.exclude("/d;\\e")
    #expect(settings.text == "[A]\nExcludes=/a\\;b;/c;/d\\;\\\\e")
    settings.include("/a;b")
    #expect(settings.text == "[A]\nExcludes=/c;/d\\;\\\\e")
    #expect(!TumblerSettings.canName("/a/$b") && !TumblerSettings("").excludes("/a"))
  }
}
