//! The VFS itself: what SQLite calls, handed to the [`Recorder`] and to the default VFS below.
//!
//! The only file of the workspace with `unsafe` in it, and nothing is decided here. A file of ours is a [`File`] at the
//! head of the memory that SQLite sets aside for it, and the real file right behind; locks and the shared memory of the
//! write-ahead log go straight through to it. Memory-mapped reading is not offered, so that each read can fail.

#![expect(unsafe_code, reason = "SQLite speaks C; see docs/decisions/0008-a-disk-that-loses-power.md")]

use std::cell::Cell;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use libsqlite3_sys::{self as sqlite, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};

use crate::recorder::{FileId, Recorder};

/// Calls a method of the VFS or file below; one that it lacks is an error like any other.
macro_rules! call {
    ($real:expr, $methods:expr, $method:ident($($argument:expr),*)) => {
        match $methods.$method {
            Some(method) => method($real, $($argument),*),
            None => sqlite::SQLITE_ERROR,
        }
    };
}

macro_rules! call_vfs {
    ($vfs:expr, $($call:tt)*) => {{
        let vfs: *mut sqlite3_vfs = $vfs;
        call!(vfs, (*vfs), $($call)*)
    }};
}

macro_rules! call_file {
    ($file:expr, $($call:tt)*) => {{
        let file: *mut sqlite3_file = $file;
        call!(file, (*(*file).pMethods), $($call)*)
    }};
}

/// Our VFS; SQLite knows only its first field.
#[repr(C)]
struct Vfs {
    base: sqlite3_vfs,
    real: *mut sqlite3_vfs,
    recorder: Arc<Recorder>,
}

/// Our file; SQLite knows only its first field, and the real file follows the last.
#[repr(C)]
struct File {
    base: sqlite3_file,
    watched: Option<Watched>,
}

/// A file that the journal speaks of.
struct Watched {
    recorder: Arc<Recorder>,
    file: FileId,
    /// Whether the next sync is one of the folder too: the first of a journal or write-ahead log that may have been made
    /// by its opening. So the default VFS does it on Unix (SQLite 3.51.3, `unixOpen` and `unixSync`).
    syncs_folder: Cell<bool>,
}

/// Registers a VFS of its own for a new recorder, which is told its name.
pub(crate) fn register(recorder: impl FnOnce(String) -> Recorder) -> Result<Arc<Recorder>, String> {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let name = format!("trunkline-disk-{}", NEXT.fetch_add(1, Ordering::Relaxed));
    let c_name = CString::new(name.as_str()).map_err(|error| error.to_string())?;
    let recorder = Arc::new(recorder(name));
    // SAFETY: null asks for the default VFS; what comes back is null or stays valid, since nobody unregisters it.
    let real = unsafe { sqlite::sqlite3_vfs_find(ptr::null()) };
    // SAFETY: see above; the struct is read and never changed after it was registered.
    let below = unsafe { real.as_ref() }.ok_or("SQLite has no default VFS")?;
    if below.iVersion < 2 || usize::try_from(below.szOsFile).is_err() {
        return Err(format!("the default VFS is too old: version {}", below.iVersion));
    }
    let base = sqlite3_vfs {
        iVersion: 2,
        szOsFile: below.szOsFile + size_of::<File>() as c_int,
        mxPathname: below.mxPathname,
        pNext: ptr::null_mut(),
        zName: c_name.into_raw(),
        pAppData: ptr::null_mut(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: Some(dl_open),
        xDlError: Some(dl_error),
        xDlSym: Some(dl_sym),
        xDlClose: Some(dl_close),
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(get_last_error),
        xCurrentTimeInt64: Some(current_time_int64),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    };
    // SQLite keeps the pointer for ever, so the memory is never given back; and whoever has a pointer to the whole may
    // go from its first field to the others, which a pointer to that field alone would not allow.
    let ours: *mut Vfs = Box::into_raw(Box::new(Vfs { base, real, recorder: Arc::clone(&recorder) }));
    // SAFETY: `ours` begins with a `sqlite3_vfs` that is complete and lives for ever, as does the name in it.
    match unsafe { sqlite::sqlite3_vfs_register(ours.cast(), 0) } {
        sqlite::SQLITE_OK => Ok(recorder),
        code => Err(format!("SQLite's code {code}")),
    }
}

/// The VFS around the struct that SQLite hands back.
///
/// # Safety
///
/// `vfs` must be one that [`register`] registered.
unsafe fn ours<'a>(vfs: *mut sqlite3_vfs) -> &'a Vfs {
    // SAFETY: by the contract above this points at a whole `Vfs`, which lives for ever and changes no more; what SQLite
    // changes in it, `pNext`, we do not look at.
    unsafe { &*vfs.cast::<Vfs>() }
}

/// The real file, which lies behind ours.
///
/// # Safety
///
/// `file` must be memory of `szOsFile` bytes as our VFS asks for.
unsafe fn real(file: *mut sqlite3_file) -> *mut sqlite3_file {
    const { assert!(size_of::<File>().is_multiple_of(8), "SQLite aligns files to 8 bytes") };
    // SAFETY: we asked for the size of `File` and the real file's, so the step stays inside.
    unsafe { file.byte_add(size_of::<File>()) }
}

/// What the journal knows of an open file; `None` passes through without a trace.
///
/// # Safety
///
/// `file` must be open by [`open`] and not closed.
unsafe fn watched<'a>(file: *mut sqlite3_file) -> Option<&'a Watched> {
    // SAFETY: `open` wrote a whole `File` there. SQLite lets one thread at a time use a file, and `close` is the last use.
    unsafe { &*file.cast::<File>() }.watched.as_ref()
}

/// A path as SQLite hands it over; `None` is a temporary file.
///
/// # Safety
///
/// `path` must be null or end with a zero, and live as long as is asked for.
unsafe fn path<'a>(path: *const c_char) -> Option<&'a Path> {
    if path.is_null() {
        return None;
    }
    // SAFETY: by the contract above.
    let bytes = unsafe { CStr::from_ptr(path) }.to_bytes();
    Some(Path::new(OsStr::from_bytes(bytes)))
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: sqlite::sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    // SAFETY: SQLite calls us with the VFS that was registered.
    let ours = unsafe { ours(vfs) };
    // SAFETY: without methods SQLite does not close the file, which is what we want if it cannot be opened.
    unsafe { (*file).pMethods = ptr::null() };
    // SAFETY: SQLite set aside as much memory as we asked for.
    let below = unsafe { real(file) };
    let open_real = || -> Result<i64, c_int> {
        // SAFETY: the arguments are SQLite's own, and the memory is as large as the real VFS asks for.
        match unsafe { call_vfs!(ours.real, xOpen(name, below, flags, out_flags)) } {
            sqlite::SQLITE_OK => {}
            code => return Err(code),
        }
        let mut length = 0;
        // SAFETY: it is open, and the length has a place to go to.
        match unsafe { call_file!(below, xFileSize(&raw mut length)) } {
            sqlite::SQLITE_OK => Ok(length),
            code => {
                // SAFETY: it is open, and not used after this.
                unsafe { call_file!(below, xClose()) };
                Err(code)
            }
        }
    };
    const LOGS: c_int =
        sqlite::SQLITE_OPEN_MAIN_JOURNAL | sqlite::SQLITE_OPEN_SUPER_JOURNAL | sqlite::SQLITE_OPEN_WAL;
    let kept = flags & (LOGS | sqlite::SQLITE_OPEN_MAIN_DB) != 0;
    // SAFETY: a name is null or a C string, which outlives the file.
    let opened = match unsafe { path(name) } {
        Some(path) if kept => ours.recorder.open(path, open_real),
        _ => open_real().map(|_| None),
    };
    let id = match opened {
        Ok(id) => id,
        Err(code) => return code,
    };
    let syncs_folder = Cell::new(flags & LOGS != 0 && flags & sqlite::SQLITE_OPEN_CREATE != 0);
    let watched = id.map(|file| Watched { recorder: Arc::clone(&ours.recorder), file, syncs_folder });
    // SAFETY: the memory is ours, large enough and aligned; what lay there is nothing that needs to be dropped.
    unsafe { file.cast::<File>().write(File { base: sqlite3_file { pMethods: &METHODS }, watched }) };
    sqlite::SQLITE_OK
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    // SAFETY: SQLite calls us with the VFS that was registered.
    let ours = unsafe { ours(vfs) };
    // SAFETY: the name is SQLite's own; 0, because the real folder needs no sync.
    let delete_real = || unsafe { call_vfs!(ours.real, xDelete(name, 0)) };
    // SAFETY: the name is a C string for the length of this call.
    match unsafe { path(name) } {
        Some(path) => ours.recorder.delete(path, sync & 1 != 0, delete_real),
        None => delete_real(),
    }
}

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite closes what was opened, once.
    let code = unsafe { call_file!(real(file), xClose()) };
    // SAFETY: `open` put it there, and SQLite does not use the file again.
    unsafe { ptr::drop_in_place(file.cast::<File>()) };
    code
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    into: *mut c_void,
    amount: c_int,
    at: sqlite3_int64,
) -> c_int {
    let read_real = |length: usize| {
        let length = (length as c_int).min(amount);
        // SAFETY: SQLite handed over room for `amount` bytes, and `length` is at most that.
        unsafe { into.byte_add(length as usize).write_bytes(0, (amount - length) as usize) };
        // SAFETY: as above, and the file is open.
        unsafe { call_file!(real(file), xRead(into, length, at)) }
    };
    // SAFETY: the file is open.
    match unsafe { watched(file) } {
        Some(watched) => watched.recorder.read(amount as usize, read_real),
        None => read_real(amount as usize),
    }
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    amount: c_int,
    at: sqlite3_int64,
) -> c_int {
    // SAFETY: the file is open.
    let Some(watched) = (unsafe { watched(file) }) else {
        // SAFETY: the arguments are SQLite's own.
        return unsafe { call_file!(real(file), xWrite(from, amount, at)) };
    };
    // SAFETY: SQLite hands over so many bytes, which nobody changes during the call.
    let bytes = unsafe { std::slice::from_raw_parts(from.cast::<u8>(), amount as usize) };
    let write_real = |bytes: &[u8]| {
        // SAFETY: the file is open, and the bytes are a part of those above.
        unsafe { call_file!(real(file), xWrite(bytes.as_ptr().cast(), bytes.len() as c_int, at)) }
    };
    watched.recorder.write(watched.file, at as u64, bytes, write_real)
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, length: sqlite3_int64) -> c_int {
    // SAFETY: the file is open.
    let truncate_real = || unsafe { call_file!(real(file), xTruncate(length)) };
    // SAFETY: the file is open.
    match unsafe { watched(file) } {
        Some(watched) => watched.recorder.resize(watched.file, length as u64, truncate_real),
        None => truncate_real(),
    }
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: the file is open.
    let Some(watched) = (unsafe { watched(file) }) else {
        // SAFETY: as above.
        return unsafe { call_file!(real(file), xSync(flags)) };
    };
    let code = watched.recorder.sync(watched.file, watched.syncs_folder.get());
    if code == sqlite::SQLITE_OK {
        watched.syncs_folder.set(false);
    }
    code
}

unsafe extern "C" fn file_control(file: *mut sqlite3_file, what: c_int, value: *mut c_void) -> c_int {
    match what {
        // Both change lengths in ways that the journal does not see, and both may be refused.
        sqlite::SQLITE_FCNTL_SIZE_HINT | sqlite::SQLITE_FCNTL_CHUNK_SIZE => sqlite::SQLITE_NOTFOUND,
        // SAFETY: the arguments are SQLite's own, and the file is open.
        _ => unsafe { call_file!(real(file), xFileControl(what, value)) },
    }
}

/// What goes straight through to the VFS below.
macro_rules! pass_to_vfs {
    ($($ours:ident = $method:ident($($name:ident: $type:ty),*) -> $result:ty, or $absent:expr;)*) => {$(
        unsafe extern "C" fn $ours(vfs: *mut sqlite3_vfs $(, $name: $type)*) -> $result {
            // SAFETY: SQLite calls us with the VFS that was registered.
            let real = unsafe { ours(vfs) }.real;
            // SAFETY: the VFS below is never unregistered, and the arguments are SQLite's own.
            match unsafe { (*real).$method } {
                // SAFETY: as above.
                Some(method) => unsafe { method(real $(, $name)*) },
                None => $absent,
            }
        }
    )*};
}

type Symbol = unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void, *const c_char);

pass_to_vfs! {
    access = xAccess(name: *const c_char, what: c_int, answer: *mut c_int) -> c_int, or sqlite::SQLITE_ERROR;
    full_pathname = xFullPathname(name: *const c_char, room: c_int, path: *mut c_char) -> c_int,
        or sqlite::SQLITE_ERROR;
    dl_open = xDlOpen(name: *const c_char) -> *mut c_void, or ptr::null_mut();
    dl_error = xDlError(room: c_int, text: *mut c_char) -> (), or ();
    dl_sym = xDlSym(library: *mut c_void, name: *const c_char) -> Option<Symbol>, or None;
    dl_close = xDlClose(library: *mut c_void) -> (), or ();
    randomness = xRandomness(room: c_int, bytes: *mut c_char) -> c_int, or 0;
    sleep = xSleep(microseconds: c_int) -> c_int, or 0;
    current_time = xCurrentTime(days: *mut f64) -> c_int, or sqlite::SQLITE_ERROR;
    get_last_error = xGetLastError(room: c_int, text: *mut c_char) -> c_int, or 0;
    current_time_int64 = xCurrentTimeInt64(milliseconds: *mut sqlite3_int64) -> c_int, or sqlite::SQLITE_ERROR;
}

/// What goes straight through to the file below.
macro_rules! pass_to_file {
    ($($ours:ident = $method:ident($($name:ident: $type:ty),*);)*) => {$(
        unsafe extern "C" fn $ours(file: *mut sqlite3_file $(, $name: $type)*) -> c_int {
            // SAFETY: the file is open, and the arguments are SQLite's own.
            unsafe { call_file!(real(file), $method($($name),*)) }
        }
    )*};
}

pass_to_file! {
    file_size = xFileSize(length: *mut sqlite3_int64);
    lock = xLock(level: c_int);
    unlock = xUnlock(level: c_int);
    check_reserved_lock = xCheckReservedLock(answer: *mut c_int);
    sector_size = xSectorSize();
    device_characteristics = xDeviceCharacteristics();
    shm_map = xShmMap(page: c_int, size: c_int, extend: c_int, memory: *mut *mut c_void);
    shm_lock = xShmLock(offset: c_int, count: c_int, flags: c_int);
    shm_unmap = xShmUnmap(delete: c_int);
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    // SAFETY: the file is open.
    let real = unsafe { real(file) };
    // SAFETY: as above.
    if let Some(barrier) = unsafe { (*(*real).pMethods).xShmBarrier } {
        // SAFETY: as above.
        unsafe { barrier(real) };
    }
}

static METHODS: sqlite3_io_methods = sqlite3_io_methods {
    iVersion: 2, // 3 would bring memory-mapped reading
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};
