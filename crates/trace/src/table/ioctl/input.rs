//! Requests of input devices: keyboards, mice, joysticks.

use super::*;

named!(ABSOLUTE "ABS_???" "" {
    "ABS_X" = 0, "ABS_Y" = 1, "ABS_Z" = 2, "ABS_RX" = 3, "ABS_RY" = 4, "ABS_RZ" = 5, "ABS_THROTTLE" = 6,
    "ABS_RUDDER" = 7, "ABS_WHEEL" = 8, "ABS_GAS" = 9, "ABS_BRAKE" = 0xa, "ABS_HAT0X" = 0x10, "ABS_HAT0Y" = 0x11,
    "ABS_HAT1X" = 0x12, "ABS_HAT1Y" = 0x13, "ABS_HAT2X" = 0x14, "ABS_HAT2Y" = 0x15, "ABS_HAT3X" = 0x16,
    "ABS_HAT3Y" = 0x17, "ABS_PRESSURE" = 0x18, "ABS_DISTANCE" = 0x19, "ABS_TILT_X" = 0x1a, "ABS_TILT_Y" = 0x1b,
    "ABS_TOOL_WIDTH" = 0x1c, "ABS_VOLUME" = 0x20, "ABS_PROFILE" = 0x21, "ABS_MISC" = 0x28, "ABS_RESERVED" = 0x2e,
    "ABS_MT_SLOT" = 0x2f, "ABS_MT_TOUCH_MAJOR" = 0x30, "ABS_MT_TOUCH_MINOR" = 0x31, "ABS_MT_WIDTH_MAJOR" = 0x32,
    "ABS_MT_WIDTH_MINOR" = 0x33, "ABS_MT_ORIENTATION" = 0x34, "ABS_MT_POSITION_X" = 0x35, "ABS_MT_POSITION_Y" = 0x36,
    "ABS_MT_TOOL_TYPE" = 0x37, "ABS_MT_BLOB_ID" = 0x38, "ABS_MT_TRACKING_ID" = 0x39, "ABS_MT_PRESSURE" = 0x3a,
    "ABS_MT_DISTANCE" = 0x3b, "ABS_MT_TOOL_X" = 0x3c, "ABS_MT_TOOL_Y" = 0x3d,
});
named!(REPEAT "REP_???" "" {
    "REP_DELAY" = 0, "REP_PERIOD" = 1,
});
named!(EVENT "EV_???" "" {
    "EV_SYN" = 0, "EV_KEY" = 1, "EV_REL" = 2, "EV_ABS" = 3, "EV_MSC" = 4, "EV_SW" = 5, "EV_LED" = 0x11,
    "EV_SND" = 0x12, "EV_REP" = 0x14, "EV_FF" = 0x15, "EV_PWR" = 0x16, "EV_FF_STATUS" = 0x17,
});
named!(STATUS "FF_STATUS_???" "" {
    "FF_STATUS_STOPPED" = 0, "FF_STATUS_PLAYING" = 1,
});
named!(FORCE "FF_???" "" {
    "FF_RUMBLE" = 0x50, "FF_PERIODIC" = 0x51, "FF_CONSTANT" = 0x52, "FF_SPRING" = 0x53, "FF_FRICTION" = 0x54,
    "FF_DAMPER" = 0x55, "FF_INERTIA" = 0x56, "FF_RAMP" = 0x57, "FF_SQUARE" = 0x58, "FF_TRIANGLE" = 0x59,
    "FF_SINE" = 0x5a, "FF_SAW_UP" = 0x5b, "FF_SAW_DOWN" = 0x5c, "FF_CUSTOM" = 0x5d, "FF_GAIN" = 0x60,
    "FF_AUTOCENTER" = 0x61,
});
named!(KEY "KEY_???" "" {
    "KEY_RESERVED" = 0, "KEY_ESC" = 1, "KEY_1" = 2, "KEY_2" = 3, "KEY_3" = 4, "KEY_4" = 5, "KEY_5" = 6, "KEY_6" = 7,
    "KEY_7" = 8, "KEY_8" = 9, "KEY_9" = 0xa, "KEY_0" = 0xb, "KEY_MINUS" = 0xc, "KEY_EQUAL" = 0xd,
    "KEY_BACKSPACE" = 0xe, "KEY_TAB" = 0xf, "KEY_Q" = 0x10, "KEY_W" = 0x11, "KEY_E" = 0x12, "KEY_R" = 0x13,
    "KEY_T" = 0x14, "KEY_Y" = 0x15, "KEY_U" = 0x16, "KEY_I" = 0x17, "KEY_O" = 0x18, "KEY_P" = 0x19,
    "KEY_LEFTBRACE" = 0x1a, "KEY_RIGHTBRACE" = 0x1b, "KEY_ENTER" = 0x1c, "KEY_LEFTCTRL" = 0x1d, "KEY_A" = 0x1e,
    "KEY_S" = 0x1f, "KEY_D" = 0x20, "KEY_F" = 0x21, "KEY_G" = 0x22, "KEY_H" = 0x23, "KEY_J" = 0x24, "KEY_K" = 0x25,
    "KEY_L" = 0x26, "KEY_SEMICOLON" = 0x27, "KEY_APOSTROPHE" = 0x28, "KEY_GRAVE" = 0x29, "KEY_LEFTSHIFT" = 0x2a,
    "KEY_BACKSLASH" = 0x2b, "KEY_Z" = 0x2c, "KEY_X" = 0x2d, "KEY_C" = 0x2e, "KEY_V" = 0x2f, "KEY_B" = 0x30,
    "KEY_N" = 0x31, "KEY_M" = 0x32, "KEY_COMMA" = 0x33, "KEY_DOT" = 0x34, "KEY_SLASH" = 0x35, "KEY_RIGHTSHIFT" = 0x36,
    "KEY_KPASTERISK" = 0x37, "KEY_LEFTALT" = 0x38, "KEY_SPACE" = 0x39, "KEY_CAPSLOCK" = 0x3a, "KEY_F1" = 0x3b,
    "KEY_F2" = 0x3c, "KEY_F3" = 0x3d, "KEY_F4" = 0x3e, "KEY_F5" = 0x3f, "KEY_F6" = 0x40, "KEY_F7" = 0x41,
    "KEY_F8" = 0x42, "KEY_F9" = 0x43, "KEY_F10" = 0x44, "KEY_NUMLOCK" = 0x45, "KEY_SCROLLLOCK" = 0x46,
    "KEY_KP7" = 0x47, "KEY_KP8" = 0x48, "KEY_KP9" = 0x49, "KEY_KPMINUS" = 0x4a, "KEY_KP4" = 0x4b, "KEY_KP5" = 0x4c,
    "KEY_KP6" = 0x4d, "KEY_KPPLUS" = 0x4e, "KEY_KP1" = 0x4f, "KEY_KP2" = 0x50, "KEY_KP3" = 0x51, "KEY_KP0" = 0x52,
    "KEY_KPDOT" = 0x53, "KEY_ZENKAKUHANKAKU" = 0x55, "KEY_102ND" = 0x56, "KEY_F11" = 0x57, "KEY_F12" = 0x58,
    "KEY_RO" = 0x59, "KEY_KATAKANA" = 0x5a, "KEY_HIRAGANA" = 0x5b, "KEY_HENKAN" = 0x5c, "KEY_KATAKANAHIRAGANA" = 0x5d,
    "KEY_MUHENKAN" = 0x5e, "KEY_KPJPCOMMA" = 0x5f, "KEY_KPENTER" = 0x60, "KEY_RIGHTCTRL" = 0x61, "KEY_KPSLASH" = 0x62,
    "KEY_SYSRQ" = 0x63, "KEY_RIGHTALT" = 0x64, "KEY_LINEFEED" = 0x65, "KEY_HOME" = 0x66, "KEY_UP" = 0x67,
    "KEY_PAGEUP" = 0x68, "KEY_LEFT" = 0x69, "KEY_RIGHT" = 0x6a, "KEY_END" = 0x6b, "KEY_DOWN" = 0x6c,
    "KEY_PAGEDOWN" = 0x6d, "KEY_INSERT" = 0x6e, "KEY_DELETE" = 0x6f, "KEY_MACRO" = 0x70, "KEY_MUTE" = 0x71,
    "KEY_VOLUMEDOWN" = 0x72, "KEY_VOLUMEUP" = 0x73, "KEY_POWER" = 0x74, "KEY_KPEQUAL" = 0x75,
    "KEY_KPPLUSMINUS" = 0x76, "KEY_PAUSE" = 0x77, "KEY_SCALE" = 0x78, "KEY_KPCOMMA" = 0x79, "KEY_HANGEUL" = 0x7a,
    "KEY_HANJA" = 0x7b, "KEY_YEN" = 0x7c, "KEY_LEFTMETA" = 0x7d, "KEY_RIGHTMETA" = 0x7e, "KEY_COMPOSE" = 0x7f,
    "KEY_STOP" = 0x80, "KEY_AGAIN" = 0x81, "KEY_PROPS" = 0x82, "KEY_UNDO" = 0x83, "KEY_FRONT" = 0x84,
    "KEY_COPY" = 0x85, "KEY_OPEN" = 0x86, "KEY_PASTE" = 0x87, "KEY_FIND" = 0x88, "KEY_CUT" = 0x89, "KEY_HELP" = 0x8a,
    "KEY_MENU" = 0x8b, "KEY_CALC" = 0x8c, "KEY_SETUP" = 0x8d, "KEY_SLEEP" = 0x8e, "KEY_WAKEUP" = 0x8f,
    "KEY_FILE" = 0x90, "KEY_SENDFILE" = 0x91, "KEY_DELETEFILE" = 0x92, "KEY_XFER" = 0x93, "KEY_PROG1" = 0x94,
    "KEY_PROG2" = 0x95, "KEY_WWW" = 0x96, "KEY_MSDOS" = 0x97, "KEY_COFFEE" = 0x98, "KEY_ROTATE_DISPLAY" = 0x99,
    "KEY_CYCLEWINDOWS" = 0x9a, "KEY_MAIL" = 0x9b, "KEY_BOOKMARKS" = 0x9c, "KEY_COMPUTER" = 0x9d, "KEY_BACK" = 0x9e,
    "KEY_FORWARD" = 0x9f, "KEY_CLOSECD" = 0xa0, "KEY_EJECTCD" = 0xa1, "KEY_EJECTCLOSECD" = 0xa2,
    "KEY_NEXTSONG" = 0xa3, "KEY_PLAYPAUSE" = 0xa4, "KEY_PREVIOUSSONG" = 0xa5, "KEY_STOPCD" = 0xa6,
    "KEY_RECORD" = 0xa7, "KEY_REWIND" = 0xa8, "KEY_PHONE" = 0xa9, "KEY_ISO" = 0xaa, "KEY_CONFIG" = 0xab,
    "KEY_HOMEPAGE" = 0xac, "KEY_REFRESH" = 0xad, "KEY_EXIT" = 0xae, "KEY_MOVE" = 0xaf, "KEY_EDIT" = 0xb0,
    "KEY_SCROLLUP" = 0xb1, "KEY_SCROLLDOWN" = 0xb2, "KEY_KPLEFTPAREN" = 0xb3, "KEY_KPRIGHTPAREN" = 0xb4,
    "KEY_NEW" = 0xb5, "KEY_REDO" = 0xb6, "KEY_F13" = 0xb7, "KEY_F14" = 0xb8, "KEY_F15" = 0xb9, "KEY_F16" = 0xba,
    "KEY_F17" = 0xbb, "KEY_F18" = 0xbc, "KEY_F19" = 0xbd, "KEY_F20" = 0xbe, "KEY_F21" = 0xbf, "KEY_F22" = 0xc0,
    "KEY_F23" = 0xc1, "KEY_F24" = 0xc2, "KEY_PLAYCD" = 0xc8, "KEY_PAUSECD" = 0xc9, "KEY_PROG3" = 0xca,
    "KEY_PROG4" = 0xcb, "KEY_ALL_APPLICATIONS" = 0xcc, "KEY_SUSPEND" = 0xcd, "KEY_CLOSE" = 0xce, "KEY_PLAY" = 0xcf,
    "KEY_FASTFORWARD" = 0xd0, "KEY_BASSBOOST" = 0xd1, "KEY_PRINT" = 0xd2, "KEY_HP" = 0xd3, "KEY_CAMERA" = 0xd4,
    "KEY_SOUND" = 0xd5, "KEY_QUESTION" = 0xd6, "KEY_EMAIL" = 0xd7, "KEY_CHAT" = 0xd8, "KEY_SEARCH" = 0xd9,
    "KEY_CONNECT" = 0xda, "KEY_FINANCE" = 0xdb, "KEY_SPORT" = 0xdc, "KEY_SHOP" = 0xdd, "KEY_ALTERASE" = 0xde,
    "KEY_CANCEL" = 0xdf, "KEY_BRIGHTNESSDOWN" = 0xe0, "KEY_BRIGHTNESSUP" = 0xe1, "KEY_MEDIA" = 0xe2,
    "KEY_SWITCHVIDEOMODE" = 0xe3, "KEY_KBDILLUMTOGGLE" = 0xe4, "KEY_KBDILLUMDOWN" = 0xe5, "KEY_KBDILLUMUP" = 0xe6,
    "KEY_SEND" = 0xe7, "KEY_REPLY" = 0xe8, "KEY_FORWARDMAIL" = 0xe9, "KEY_SAVE" = 0xea, "KEY_DOCUMENTS" = 0xeb,
    "KEY_BATTERY" = 0xec, "KEY_BLUETOOTH" = 0xed, "KEY_WLAN" = 0xee, "KEY_UWB" = 0xef, "KEY_UNKNOWN" = 0xf0,
    "KEY_VIDEO_NEXT" = 0xf1, "KEY_VIDEO_PREV" = 0xf2, "KEY_BRIGHTNESS_CYCLE" = 0xf3, "KEY_BRIGHTNESS_AUTO" = 0xf4,
    "KEY_DISPLAY_OFF" = 0xf5, "KEY_WWAN" = 0xf6, "KEY_RFKILL" = 0xf7, "KEY_MICMUTE" = 0xf8, "BTN_0" = 0x100,
    "BTN_1" = 0x101, "BTN_2" = 0x102, "BTN_3" = 0x103, "BTN_4" = 0x104, "BTN_5" = 0x105, "BTN_6" = 0x106,
    "BTN_7" = 0x107, "BTN_8" = 0x108, "BTN_9" = 0x109, "BTN_LEFT" = 0x110, "BTN_RIGHT" = 0x111, "BTN_MIDDLE" = 0x112,
    "BTN_SIDE" = 0x113, "BTN_EXTRA" = 0x114, "BTN_FORWARD" = 0x115, "BTN_BACK" = 0x116, "BTN_TASK" = 0x117,
    "BTN_TRIGGER" = 0x120, "BTN_THUMB" = 0x121, "BTN_THUMB2" = 0x122, "BTN_TOP" = 0x123, "BTN_TOP2" = 0x124,
    "BTN_PINKIE" = 0x125, "BTN_BASE" = 0x126, "BTN_BASE2" = 0x127, "BTN_BASE3" = 0x128, "BTN_BASE4" = 0x129,
    "BTN_BASE5" = 0x12a, "BTN_BASE6" = 0x12b, "BTN_DEAD" = 0x12f, "BTN_SOUTH" = 0x130, "BTN_EAST" = 0x131,
    "BTN_C" = 0x132, "BTN_NORTH" = 0x133, "BTN_WEST" = 0x134, "BTN_Z" = 0x135, "BTN_TL" = 0x136, "BTN_TR" = 0x137,
    "BTN_TL2" = 0x138, "BTN_TR2" = 0x139, "BTN_SELECT" = 0x13a, "BTN_START" = 0x13b, "BTN_MODE" = 0x13c,
    "BTN_THUMBL" = 0x13d, "BTN_THUMBR" = 0x13e, "BTN_TOOL_PEN" = 0x140, "BTN_TOOL_RUBBER" = 0x141,
    "BTN_TOOL_BRUSH" = 0x142, "BTN_TOOL_PENCIL" = 0x143, "BTN_TOOL_AIRBRUSH" = 0x144, "BTN_TOOL_FINGER" = 0x145,
    "BTN_TOOL_MOUSE" = 0x146, "BTN_TOOL_LENS" = 0x147, "BTN_TOOL_QUINTTAP" = 0x148, "BTN_STYLUS3" = 0x149,
    "BTN_TOUCH" = 0x14a, "BTN_STYLUS" = 0x14b, "BTN_STYLUS2" = 0x14c, "BTN_TOOL_DOUBLETAP" = 0x14d,
    "BTN_TOOL_TRIPLETAP" = 0x14e, "BTN_TOOL_QUADTAP" = 0x14f, "BTN_GEAR_DOWN" = 0x150, "BTN_GEAR_UP" = 0x151,
    "KEY_OK" = 0x160, "KEY_SELECT" = 0x161, "KEY_GOTO" = 0x162, "KEY_CLEAR" = 0x163, "KEY_POWER2" = 0x164,
    "KEY_OPTION" = 0x165, "KEY_INFO" = 0x166, "KEY_TIME" = 0x167, "KEY_VENDOR" = 0x168, "KEY_ARCHIVE" = 0x169,
    "KEY_PROGRAM" = 0x16a, "KEY_CHANNEL" = 0x16b, "KEY_FAVORITES" = 0x16c, "KEY_EPG" = 0x16d, "KEY_PVR" = 0x16e,
    "KEY_MHP" = 0x16f, "KEY_LANGUAGE" = 0x170, "KEY_TITLE" = 0x171, "KEY_SUBTITLE" = 0x172, "KEY_ANGLE" = 0x173,
    "KEY_ZOOM" = 0x174, "KEY_MODE" = 0x175, "KEY_KEYBOARD" = 0x176, "KEY_SCREEN" = 0x177, "KEY_PC" = 0x178,
    "KEY_TV" = 0x179, "KEY_TV2" = 0x17a, "KEY_VCR" = 0x17b, "KEY_VCR2" = 0x17c, "KEY_SAT" = 0x17d, "KEY_SAT2" = 0x17e,
    "KEY_CD" = 0x17f, "KEY_TAPE" = 0x180, "KEY_RADIO" = 0x181, "KEY_TUNER" = 0x182, "KEY_PLAYER" = 0x183,
    "KEY_TEXT" = 0x184, "KEY_DVD" = 0x185, "KEY_AUX" = 0x186, "KEY_MP3" = 0x187, "KEY_AUDIO" = 0x188,
    "KEY_VIDEO" = 0x189, "KEY_DIRECTORY" = 0x18a, "KEY_LIST" = 0x18b, "KEY_MEMO" = 0x18c, "KEY_CALENDAR" = 0x18d,
    "KEY_RED" = 0x18e, "KEY_GREEN" = 0x18f, "KEY_YELLOW" = 0x190, "KEY_BLUE" = 0x191, "KEY_CHANNELUP" = 0x192,
    "KEY_CHANNELDOWN" = 0x193, "KEY_FIRST" = 0x194, "KEY_LAST" = 0x195, "KEY_AB" = 0x196, "KEY_NEXT" = 0x197,
    "KEY_RESTART" = 0x198, "KEY_SLOW" = 0x199, "KEY_SHUFFLE" = 0x19a, "KEY_BREAK" = 0x19b, "KEY_PREVIOUS" = 0x19c,
    "KEY_DIGITS" = 0x19d, "KEY_TEEN" = 0x19e, "KEY_TWEN" = 0x19f, "KEY_VIDEOPHONE" = 0x1a0, "KEY_GAMES" = 0x1a1,
    "KEY_ZOOMIN" = 0x1a2, "KEY_ZOOMOUT" = 0x1a3, "KEY_ZOOMRESET" = 0x1a4, "KEY_WORDPROCESSOR" = 0x1a5,
    "KEY_EDITOR" = 0x1a6, "KEY_SPREADSHEET" = 0x1a7, "KEY_GRAPHICSEDITOR" = 0x1a8, "KEY_PRESENTATION" = 0x1a9,
    "KEY_DATABASE" = 0x1aa, "KEY_NEWS" = 0x1ab, "KEY_VOICEMAIL" = 0x1ac, "KEY_ADDRESSBOOK" = 0x1ad,
    "KEY_MESSENGER" = 0x1ae, "KEY_DISPLAYTOGGLE" = 0x1af, "KEY_SPELLCHECK" = 0x1b0, "KEY_LOGOFF" = 0x1b1,
    "KEY_DOLLAR" = 0x1b2, "KEY_EURO" = 0x1b3, "KEY_FRAMEBACK" = 0x1b4, "KEY_FRAMEFORWARD" = 0x1b5,
    "KEY_CONTEXT_MENU" = 0x1b6, "KEY_MEDIA_REPEAT" = 0x1b7, "KEY_10CHANNELSUP" = 0x1b8, "KEY_10CHANNELSDOWN" = 0x1b9,
    "KEY_IMAGES" = 0x1ba, "KEY_NOTIFICATION_CENTER" = 0x1bc, "KEY_PICKUP_PHONE" = 0x1bd, "KEY_HANGUP_PHONE" = 0x1be,
    "KEY_DEL_EOL" = 0x1c0, "KEY_DEL_EOS" = 0x1c1, "KEY_INS_LINE" = 0x1c2, "KEY_DEL_LINE" = 0x1c3, "KEY_FN" = 0x1d0,
    "KEY_FN_ESC" = 0x1d1, "KEY_FN_F1" = 0x1d2, "KEY_FN_F2" = 0x1d3, "KEY_FN_F3" = 0x1d4, "KEY_FN_F4" = 0x1d5,
    "KEY_FN_F5" = 0x1d6, "KEY_FN_F6" = 0x1d7, "KEY_FN_F7" = 0x1d8, "KEY_FN_F8" = 0x1d9, "KEY_FN_F9" = 0x1da,
    "KEY_FN_F10" = 0x1db, "KEY_FN_F11" = 0x1dc, "KEY_FN_F12" = 0x1dd, "KEY_FN_1" = 0x1de, "KEY_FN_2" = 0x1df,
    "KEY_FN_D" = 0x1e0, "KEY_FN_E" = 0x1e1, "KEY_FN_F" = 0x1e2, "KEY_FN_S" = 0x1e3, "KEY_FN_B" = 0x1e4,
    "KEY_FN_RIGHT_SHIFT" = 0x1e5, "KEY_BRL_DOT1" = 0x1f1, "KEY_BRL_DOT2" = 0x1f2, "KEY_BRL_DOT3" = 0x1f3,
    "KEY_BRL_DOT4" = 0x1f4, "KEY_BRL_DOT5" = 0x1f5, "KEY_BRL_DOT6" = 0x1f6, "KEY_BRL_DOT7" = 0x1f7,
    "KEY_BRL_DOT8" = 0x1f8, "KEY_BRL_DOT9" = 0x1f9, "KEY_BRL_DOT10" = 0x1fa, "KEY_NUMERIC_0" = 0x200,
    "KEY_NUMERIC_1" = 0x201, "KEY_NUMERIC_2" = 0x202, "KEY_NUMERIC_3" = 0x203, "KEY_NUMERIC_4" = 0x204,
    "KEY_NUMERIC_5" = 0x205, "KEY_NUMERIC_6" = 0x206, "KEY_NUMERIC_7" = 0x207, "KEY_NUMERIC_8" = 0x208,
    "KEY_NUMERIC_9" = 0x209, "KEY_NUMERIC_STAR" = 0x20a, "KEY_NUMERIC_POUND" = 0x20b, "KEY_NUMERIC_A" = 0x20c,
    "KEY_NUMERIC_B" = 0x20d, "KEY_NUMERIC_C" = 0x20e, "KEY_NUMERIC_D" = 0x20f, "KEY_CAMERA_FOCUS" = 0x210,
    "KEY_WPS_BUTTON" = 0x211, "KEY_TOUCHPAD_TOGGLE" = 0x212, "KEY_TOUCHPAD_ON" = 0x213, "KEY_TOUCHPAD_OFF" = 0x214,
    "KEY_CAMERA_ZOOMIN" = 0x215, "KEY_CAMERA_ZOOMOUT" = 0x216, "KEY_CAMERA_UP" = 0x217, "KEY_CAMERA_DOWN" = 0x218,
    "KEY_CAMERA_LEFT" = 0x219, "KEY_CAMERA_RIGHT" = 0x21a, "KEY_ATTENDANT_ON" = 0x21b, "KEY_ATTENDANT_OFF" = 0x21c,
    "KEY_ATTENDANT_TOGGLE" = 0x21d, "KEY_LIGHTS_TOGGLE" = 0x21e, "BTN_DPAD_UP" = 0x220, "BTN_DPAD_DOWN" = 0x221,
    "BTN_DPAD_LEFT" = 0x222, "BTN_DPAD_RIGHT" = 0x223, "KEY_ALS_TOGGLE" = 0x230, "KEY_ROTATE_LOCK_TOGGLE" = 0x231,
    "KEY_BUTTONCONFIG" = 0x240, "KEY_TASKMANAGER" = 0x241, "KEY_JOURNAL" = 0x242, "KEY_CONTROLPANEL" = 0x243,
    "KEY_APPSELECT" = 0x244, "KEY_SCREENSAVER" = 0x245, "KEY_VOICECOMMAND" = 0x246, "KEY_ASSISTANT" = 0x247,
    "KEY_KBD_LAYOUT_NEXT" = 0x248, "KEY_EMOJI_PICKER" = 0x249, "KEY_DICTATE" = 0x24a, "KEY_BRIGHTNESS_MIN" = 0x250,
    "KEY_BRIGHTNESS_MAX" = 0x251, "KEY_KBDINPUTASSIST_PREV" = 0x260, "KEY_KBDINPUTASSIST_NEXT" = 0x261,
    "KEY_KBDINPUTASSIST_PREVGROUP" = 0x262, "KEY_KBDINPUTASSIST_NEXTGROUP" = 0x263,
    "KEY_KBDINPUTASSIST_ACCEPT" = 0x264, "KEY_KBDINPUTASSIST_CANCEL" = 0x265, "KEY_RIGHT_UP" = 0x266,
    "KEY_RIGHT_DOWN" = 0x267, "KEY_LEFT_UP" = 0x268, "KEY_LEFT_DOWN" = 0x269, "KEY_ROOT_MENU" = 0x26a,
    "KEY_MEDIA_TOP_MENU" = 0x26b, "KEY_NUMERIC_11" = 0x26c, "KEY_NUMERIC_12" = 0x26d, "KEY_AUDIO_DESC" = 0x26e,
    "KEY_3D_MODE" = 0x26f, "KEY_NEXT_FAVORITE" = 0x270, "KEY_STOP_RECORD" = 0x271, "KEY_PAUSE_RECORD" = 0x272,
    "KEY_VOD" = 0x273, "KEY_UNMUTE" = 0x274, "KEY_FASTREVERSE" = 0x275, "KEY_SLOWREVERSE" = 0x276, "KEY_DATA" = 0x277,
    "KEY_ONSCREEN_KEYBOARD" = 0x278, "KEY_PRIVACY_SCREEN_TOGGLE" = 0x279, "KEY_SELECTIVE_SCREENSHOT" = 0x27a,
    "KEY_NEXT_ELEMENT" = 0x27b, "KEY_PREVIOUS_ELEMENT" = 0x27c, "KEY_AUTOPILOT_ENGAGE_TOGGLE" = 0x27d,
    "KEY_MARK_WAYPOINT" = 0x27e, "KEY_SOS" = 0x27f, "KEY_NAV_CHART" = 0x280, "KEY_FISHING_CHART" = 0x281,
    "KEY_SINGLE_RANGE_RADAR" = 0x282, "KEY_DUAL_RANGE_RADAR" = 0x283, "KEY_RADAR_OVERLAY" = 0x284,
    "KEY_TRADITIONAL_SONAR" = 0x285, "KEY_CLEARVU_SONAR" = 0x286, "KEY_SIDEVU_SONAR" = 0x287, "KEY_NAV_INFO" = 0x288,
    "KEY_BRIGHTNESS_MENU" = 0x289, "KEY_MACRO1" = 0x290, "KEY_MACRO2" = 0x291, "KEY_MACRO3" = 0x292,
    "KEY_MACRO4" = 0x293, "KEY_MACRO5" = 0x294, "KEY_MACRO6" = 0x295, "KEY_MACRO7" = 0x296, "KEY_MACRO8" = 0x297,
    "KEY_MACRO9" = 0x298, "KEY_MACRO10" = 0x299, "KEY_MACRO11" = 0x29a, "KEY_MACRO12" = 0x29b, "KEY_MACRO13" = 0x29c,
    "KEY_MACRO14" = 0x29d, "KEY_MACRO15" = 0x29e, "KEY_MACRO16" = 0x29f, "KEY_MACRO17" = 0x2a0, "KEY_MACRO18" = 0x2a1,
    "KEY_MACRO19" = 0x2a2, "KEY_MACRO20" = 0x2a3, "KEY_MACRO21" = 0x2a4, "KEY_MACRO22" = 0x2a5, "KEY_MACRO23" = 0x2a6,
    "KEY_MACRO24" = 0x2a7, "KEY_MACRO25" = 0x2a8, "KEY_MACRO26" = 0x2a9, "KEY_MACRO27" = 0x2aa, "KEY_MACRO28" = 0x2ab,
    "KEY_MACRO29" = 0x2ac, "KEY_MACRO30" = 0x2ad, "KEY_MACRO_RECORD_START" = 0x2b0, "KEY_MACRO_RECORD_STOP" = 0x2b1,
    "KEY_MACRO_PRESET_CYCLE" = 0x2b2, "KEY_MACRO_PRESET1" = 0x2b3, "KEY_MACRO_PRESET2" = 0x2b4,
    "KEY_MACRO_PRESET3" = 0x2b5, "KEY_KBD_LCD_MENU1" = 0x2b8, "KEY_KBD_LCD_MENU2" = 0x2b9,
    "KEY_KBD_LCD_MENU3" = 0x2ba, "KEY_KBD_LCD_MENU4" = 0x2bb, "KEY_KBD_LCD_MENU5" = 0x2bc,
    "BTN_TRIGGER_HAPPY1" = 0x2c0, "BTN_TRIGGER_HAPPY2" = 0x2c1, "BTN_TRIGGER_HAPPY3" = 0x2c2,
    "BTN_TRIGGER_HAPPY4" = 0x2c3, "BTN_TRIGGER_HAPPY5" = 0x2c4, "BTN_TRIGGER_HAPPY6" = 0x2c5,
    "BTN_TRIGGER_HAPPY7" = 0x2c6, "BTN_TRIGGER_HAPPY8" = 0x2c7, "BTN_TRIGGER_HAPPY9" = 0x2c8,
    "BTN_TRIGGER_HAPPY10" = 0x2c9, "BTN_TRIGGER_HAPPY11" = 0x2ca, "BTN_TRIGGER_HAPPY12" = 0x2cb,
    "BTN_TRIGGER_HAPPY13" = 0x2cc, "BTN_TRIGGER_HAPPY14" = 0x2cd, "BTN_TRIGGER_HAPPY15" = 0x2ce,
    "BTN_TRIGGER_HAPPY16" = 0x2cf, "BTN_TRIGGER_HAPPY17" = 0x2d0, "BTN_TRIGGER_HAPPY18" = 0x2d1,
    "BTN_TRIGGER_HAPPY19" = 0x2d2, "BTN_TRIGGER_HAPPY20" = 0x2d3, "BTN_TRIGGER_HAPPY21" = 0x2d4,
    "BTN_TRIGGER_HAPPY22" = 0x2d5, "BTN_TRIGGER_HAPPY23" = 0x2d6, "BTN_TRIGGER_HAPPY24" = 0x2d7,
    "BTN_TRIGGER_HAPPY25" = 0x2d8, "BTN_TRIGGER_HAPPY26" = 0x2d9, "BTN_TRIGGER_HAPPY27" = 0x2da,
    "BTN_TRIGGER_HAPPY28" = 0x2db, "BTN_TRIGGER_HAPPY29" = 0x2dc, "BTN_TRIGGER_HAPPY30" = 0x2dd,
    "BTN_TRIGGER_HAPPY31" = 0x2de, "BTN_TRIGGER_HAPPY32" = 0x2df, "BTN_TRIGGER_HAPPY33" = 0x2e0,
    "BTN_TRIGGER_HAPPY34" = 0x2e1, "BTN_TRIGGER_HAPPY35" = 0x2e2, "BTN_TRIGGER_HAPPY36" = 0x2e3,
    "BTN_TRIGGER_HAPPY37" = 0x2e4, "BTN_TRIGGER_HAPPY38" = 0x2e5, "BTN_TRIGGER_HAPPY39" = 0x2e6,
    "BTN_TRIGGER_HAPPY40" = 0x2e7,
});
named!(LIGHT "LED_???" "" {
    "LED_NUML" = 0, "LED_CAPSL" = 1, "LED_SCROLLL" = 2, "LED_COMPOSE" = 3, "LED_KANA" = 4, "LED_SLEEP" = 5,
    "LED_SUSPEND" = 6, "LED_MUTE" = 7, "LED_MISC" = 8, "LED_MAIL" = 9, "LED_CHARGING" = 0xa,
});
named!(MISCELLANEOUS "MSC_???" "" {
    "MSC_SERIAL" = 0, "MSC_PULSELED" = 1, "MSC_GESTURE" = 2, "MSC_RAW" = 3, "MSC_SCAN" = 4, "MSC_TIMESTAMP" = 5,
});
named!(SLOT "ABS_MT_???" "" {
    "ABS_MT_SLOT" = 0x2f, "ABS_MT_TOUCH_MAJOR" = 0x30, "ABS_MT_TOUCH_MINOR" = 0x31, "ABS_MT_WIDTH_MAJOR" = 0x32,
    "ABS_MT_WIDTH_MINOR" = 0x33, "ABS_MT_ORIENTATION" = 0x34, "ABS_MT_POSITION_X" = 0x35, "ABS_MT_POSITION_Y" = 0x36,
    "ABS_MT_TOOL_TYPE" = 0x37, "ABS_MT_BLOB_ID" = 0x38, "ABS_MT_TRACKING_ID" = 0x39, "ABS_MT_PRESSURE" = 0x3a,
    "ABS_MT_DISTANCE" = 0x3b, "ABS_MT_TOOL_X" = 0x3c, "ABS_MT_TOOL_Y" = 0x3d,
});
named!(PROPERTY "PROP_???" "" {
    "INPUT_PROP_POINTER" = 0, "INPUT_PROP_DIRECT" = 1, "INPUT_PROP_BUTTONPAD" = 2, "INPUT_PROP_SEMI_MT" = 3,
    "INPUT_PROP_TOPBUTTONPAD" = 4, "INPUT_PROP_POINTING_STICK" = 5, "INPUT_PROP_ACCELEROMETER" = 6,
});
named!(RELATIVE "REL_???" "" {
    "REL_X" = 0, "REL_Y" = 1, "REL_Z" = 2, "REL_RX" = 3, "REL_RY" = 4, "REL_RZ" = 5, "REL_HWHEEL" = 6, "REL_DIAL" = 7,
    "REL_WHEEL" = 8, "REL_MISC" = 9, "REL_RESERVED" = 0xa, "REL_WHEEL_HI_RES" = 0xb, "REL_HWHEEL_HI_RES" = 0xc,
});
named!(SOUND "SND_???" "" {
    "SND_CLICK" = 0, "SND_BELL" = 1, "SND_TONE" = 2,
});
named!(SWITCH "SW_???" "" {
    "SW_LID" = 0, "SW_TABLET_MODE" = 1, "SW_HEADPHONE_INSERT" = 2, "SW_RFKILL_ALL" = 3, "SW_MICROPHONE_INSERT" = 4,
    "SW_DOCK" = 5, "SW_LINEOUT_INSERT" = 6, "SW_JACK_PHYSICAL_INSERT" = 7, "SW_VIDEOOUT_INSERT" = 8,
    "SW_CAMERA_LENS_COVER" = 9, "SW_KEYPAD_SLIDE" = 0xa, "SW_FRONT_PROXIMITY" = 0xb, "SW_ROTATE_LOCK" = 0xc,
    "SW_LINEIN_INSERT" = 0xd, "SW_MUTE_DEVICE" = 0xe, "SW_PEN_INSERTED" = 0xf,
});

structure!(IDENTITY 8 { field bustype 0 U16, field vendor 2 U16, field product 4 U16, field version 6 U16 });
structure!(KEY_OF 40 {
    field flags 0 U8, field len 1 U8, more index 2 U16, more keycode 4 One(Four, &KEY),
    more scancode 8 Array(&Hex(Byte), 32),
});
structure!(ENVELOPE 8 { field attack_length 0 U16, field attack_level 2 U16, field fade_length 4 U16, field fade_level 6 Hex(Two) });
structure!(TRIGGER 4 { field button 0 U16, field interval 2 U16 });
structure!(REPLAY 4 { field length 0 U16, field delay 2 U16 });
structure!(CONSTANT 10 { field level 0 Signed(Two), field envelope 2 Structure(&ENVELOPE) });
structure!(RAMP 12 { field start_level 0 Signed(Two), field end_level 2 Signed(Two), field envelope 4 Structure(&ENVELOPE) });
structure!(PERIODIC 32 {
    field waveform 0 U16, field period 2 U16, field magnitude 4 Signed(Two), field offset 6 Signed(Two), field phase 8 U16,
    field envelope 10 Structure(&ENVELOPE), field custom_len 20 UINT, field custom_data 24 Address,
});
structure!(RUMBLE 4 { field strong_magnitude 0 U16, field weak_magnitude 2 U16 });
structure!(EFFECT 48 {
    field r#type 0 One(Two, &FORCE), field id 2 Signed(Two), field direction 4 U16, more trigger 6 Structure(&TRIGGER),
    more replay 10 Structure(&REPLAY),
    more constant 16 Only(Test::Is(0, Two, &[0x52]), &Structure(&CONSTANT)),
    more ramp 16 Only(Test::Is(0, Two, &[0x57]), &Structure(&RAMP)),
    more periodic 16 Only(Test::Is(0, Two, &[0x51]), &Structure(&PERIODIC)),
    more rumble 16 Only(Test::Is(0, Two, &[0x50]), &Structure(&RUMBLE)),
});
structure!(AXIS 20 {
    field value 0 UINT, field minimum 4 UINT, more maximum 8 UINT, more fuzz 12 UINT, more flat 16 UINT,
});
structure!(AXIS_WITH_RESOLUTION 24 {
    field value 0 UINT, field minimum 4 UINT, more maximum 8 UINT, more fuzz 12 UINT, more flat 16 UINT,
    more resolution 20 UINT,
});

structure!(AXIS_AND_MORE 20 {
    field value 0 UINT, field minimum 4 UINT, more maximum 8 UINT, more fuzz 12 UINT, more flat 16 UINT, field rest 20 Unsaid,
});
structure!(AXIS_WITH_RESOLUTION_AND_MORE 24 {
    field value 0 UINT, field minimum 4 UINT, more maximum 8 UINT, more fuzz 12 UINT, more flat 16 UINT,
    more resolution 20 UINT, field rest 24 Unsaid,
});
const SHORT_AXIS_AND_MORE: Kind = Structure(&AXIS_AND_MORE);
const LONG_AXIS_AND_MORE: Kind = Structure(&AXIS_WITH_RESOLUTION_AND_MORE);
const SHORT_AXIS: Kind = Structure(&AXIS);
const LONG_AXIS: Kind = Structure(&AXIS_WITH_RESOLUTION);

/// A code and the key that it stands for.
const CODE: Kind = Special(S::Pair(&UINT, &One(Four, &KEY)));

pub(super) static GIVEN: Family = &[
    ("EVIOCGVERSION", hears(&BITS)),
    ("EVIOCGEFFECTS", UINT_OUT),
    ("EVIOCGID", hears(&Structure(&IDENTITY))),
    ("EVIOCGKEYCODE", hears(&CODE)),
    ("EVIOCSKEYCODE", says(&CODE)),
    ("EVIOCGKEYCODE_V2", hears(&Structure(&KEY_OF))),
    ("EVIOCSKEYCODE_V2", says(&Structure(&KEY_OF))),
    ("EVIOCGREP", hears(&Array(&UINT, 2))),
    ("EVIOCSREP", says(&Array(&UINT, 2))),
    ("EVIOCSFF", says(&Structure(&EFFECT))),
    ("EVIOCRMFF", INT),
    ("EVIOCGRAB EVIOCREVOKE", ULONG),
    ("EVIOCSCLOCKID", UINT_IN),
];

/// What is asked of which the request says the size: its number, its name, and what comes of it.
static SIZED: &[(u32, &str, Kind)] = &[
    (0x06, "EVIOCGNAME", Bytes(Out, Length::Result)),
    (0x07, "EVIOCGPHYS", Bytes(Out, Length::Result)),
    (0x08, "EVIOCGUNIQ", Bytes(Out, Length::Result)),
    (0x09, "EVIOCGPROP", Special(S::BitSet(&PROPERTY))),
    (0x0a, "EVIOCGMTSLOTS", Special(S::Slots(&SLOT))),
    (0x18, "EVIOCGKEY", Special(S::BitSet(&KEY))),
    (0x19, "EVIOCGLED", Special(S::BitSet(&LIGHT))),
    (0x1a, "EVIOCGSND", Special(S::BitSet(&SOUND))),
    (0x1b, "EVIOCGSW", Special(S::BitSet(&SWITCH))),
];

/// The bits that there are of each kind of event.
static BITS_OF: &[(u32, &Names)] = &[
    (0, &EVENT),
    (1, &KEY),
    (2, &RELATIVE),
    (3, &ABSOLUTE),
    (4, &MISCELLANEOUS),
    (5, &SWITCH),
    (0x11, &LIGHT),
    (0x12, &SOUND),
    (0x14, &REPEAT),
    (0x15, &FORCE),
    (0x17, &STATUS),
];

const READ: u32 = 2;
const WRITE: u32 = 1;
const FIRST_BITS: u32 = 0x20;
const FIRST_AXIS: u32 = 0x40;
const FIRST_SET_AXIS: u32 = 0xc0;

/// The same of other drivers, by the letter of each.
static OTHER: &[(u8, u32, &str)] = &[
    (b'H', 0x04, "HIDIOCGRAWNAME"),
    (b'H', 0x05, "HIDIOCGRAWPHYS"),
    (b'H', 0x06, "HIDIOCGNAME"),
    (b'H', 0x08, "HIDIOCGRAWUNIQ"),
    (b'H', 0x12, "HIDIOCGPHYS"),
    (b'U', 0x2c, "UI_GET_SYSNAME"),
    (b'j', 0x13, "JSIOCGNAME"),
];

fn parts(request: u32) -> (u32, u32, u32) {
    (request >> 30, request >> 8 & 0xff, request & 0xff)
}

/// Writes the name of a request of sound mixers, by the number of the channel; whether it is one.
pub(super) fn put_mixer(out: &mut Vec<u8>, request: u32) -> bool {
    let name: &[u8] = match parts(request) {
        (READ, group, _) if group == u32::from(b'M') => b"MIXER_READ(",
        (WRITE, group, _) if group == u32::from(b'M') => b"MIXER_WRITE(",
        _ => return false,
    };
    out.extend_from_slice(name);
    put::unsigned(out, u64::from(request & 0xff));
    out.push(b')');
    true
}

enum Asked {
    Sized(&'static str, Kind),
    Bits(u32),
    Axis(&'static str, u32, Way),
}

fn asked(request: u32) -> Option<Asked> {
    let (direction, group, number) = parts(request);
    if direction == READ {
        let other = OTHER
            .iter()
            .find(|(of, known, _)| (u32::from(*of), *known) == (group, number));
        if let Some((_, _, name)) = other {
            return Some(Asked::Sized(name, LONG_BITS));
        }
    }
    if group != u32::from(b'E') {
        return None;
    }
    let sized = SIZED.iter().find(|(known, ..)| *known == number);
    match direction {
        READ if sized.is_some() => sized.map(|(_, name, kind)| Asked::Sized(name, *kind)),
        READ if (FIRST_BITS..FIRST_AXIS).contains(&number) => {
            Some(Asked::Bits(number - FIRST_BITS))
        }
        READ if (FIRST_AXIS..2 * FIRST_AXIS).contains(&number) => {
            Some(Asked::Axis("EVIOCGABS", number - FIRST_AXIS, Out))
        }
        WRITE if number >= FIRST_SET_AXIS => {
            Some(Asked::Axis("EVIOCSABS", number - FIRST_SET_AXIS, In))
        }
        _ => None,
    }
}

fn size(request: u32) -> u64 {
    u64::from(request >> 16 & 0x3fff)
}

/// Writes the name of a request that says a size or an axis; whether it is one.
pub(super) fn put_name(out: &mut Vec<u8>, request: u32, remarks: bool) -> bool {
    let put_one = |out: &mut Vec<u8>, value: u32, names: &Names| match names.name(value.into()) {
        None if !remarks => put::hex(out, value.into()),
        _ => put::one(out, value.into(), names),
    };
    match asked(request) {
        Some(Asked::Sized(name, _)) => {
            out.extend_from_slice(name.as_bytes());
            out.push(b'(');
            put::unsigned(out, size(request));
        }
        Some(Asked::Bits(kind)) => {
            out.extend_from_slice(b"EVIOCGBIT(");
            if kind == 0 {
                out.push(b'0');
            } else {
                put_one(out, kind, &EVENT);
            }
            out.extend_from_slice(b", ");
            put::unsigned(out, size(request));
        }
        Some(Asked::Axis(name, axis, _)) => {
            out.extend_from_slice(name.as_bytes());
            out.push(b'(');
            put_one(out, axis, &ABSOLUTE);
        }
        None => return false,
    }
    out.push(b')');
    true
}

/// What such a request is given.
pub(super) fn given(request: u32) -> Option<Kind> {
    match asked(request)? {
        Asked::Sized(_, kind) => Some(kind),
        Asked::Bits(kind) => {
            let bits = BITS_OF.iter().find(|(known, _)| *known == kind);
            Some(bits.map_or(Address, |(_, names)| Special(S::BitSet(names))))
        }
        Asked::Axis(_, _, way) => Some(match size(request) {
            0..20 => Address,
            20 => To(way, &SHORT_AXIS),
            21..24 => To(way, &SHORT_AXIS_AND_MORE),
            24 => To(way, &LONG_AXIS),
            _ => To(way, &LONG_AXIS_AND_MORE),
        }),
    }
}
