// output_folder.hpp — what a command leaves behind: all of it or nothing, the old or the new.
//
// An OutputFolder is made before the work begins. It refuses what cannot be replaced as a whole
// (the folder one stands in, the root, a mount point) and what must not be (results without
// --force, files that no run wrote); it keeps other processes out until it is gone, and sweeps
// what a dead one left. Files are written into a folder beside it, .NAME.partial-PID, and commit()
// exchanges the two in one step, so that a reader, whenever the run is killed, finds one whole
// result. Where a file system cannot exchange, commit() renames twice; the earlier result is
// .NAME.old in between, and the next run puts it back if it must.
//
// An OutputFile is the same for a single file; it refuses one that the command reads, too.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/input_files.hpp"
#include "base/text_pieces.hpp"
#include "plots/figures.hpp"

namespace ukemi::analysis {

// Keeps other processes out by a file .NAME.lock beside what is written. The lock goes with the
// process, however that ends, and the file unless it is killed at once; a file that a dead process
// left is taken over.
class OutputLock {
public:
    // InputError if another process holds it. What is locked is called `shown`.
    OutputLock(const std::filesystem::path& target, const std::filesystem::path& shown);
    ~OutputLock();
    OutputLock(const OutputLock&) = delete;
    OutputLock& operator=(const OutputLock&) = delete;

private:
    std::filesystem::path file_;
    int descriptor_ = -1;
    int noted_ = -1;  // where remove_held_locks() finds it
};

// The files of all locks that this process holds; for a handler of a signal that ends it.
void remove_held_locks();

// Folders that were made for a target, and are taken away again while they are empty.
class MadeFolders {
public:
    explicit MadeFolders(const std::filesystem::path& folder);
    ~MadeFolders();
    MadeFolders(const MadeFolders&) = delete;
    MadeFolders& operator=(const MadeFolders&) = delete;

private:
    std::vector<std::filesystem::path> made_;  // the innermost last
};

class OutputFolder {
public:
    OutputFolder(const std::filesystem::path& folder, bool force);
    ~OutputFolder();
    OutputFolder(const OutputFolder&) = delete;
    OutputFolder& operator=(const OutputFolder&) = delete;

    const std::filesystem::path& path() const { return shown_; }  // as the user calls it

    // The folder that it is in, which is there.
    std::filesystem::path around() const;
    // Where to write until commit(); made when it is first asked for.
    const std::filesystem::path& staging();
    void write(const std::filesystem::path& file, const std::string& text);
    void write(const std::filesystem::path& file, const TextPieces& text);
    // A folder in it that can be replaced by itself later.
    void set_apart(const std::filesystem::path& part);

    // What was written takes the place of what was there. If that cannot be (somebody put a file
    // there meanwhile), the results are kept beside it, and the exception says where.
    void commit();
    void add(const std::filesystem::path& file, const std::string& text);  // after commit()

    // What was said of files in staging(), said of where they are in the end.
    plots::FigureResult settled(plots::FigureResult figures) const;

private:
    void refuse_foreign(const std::string& otherwise) const;
    void place();
    std::filesystem::path keep_beside();

    std::filesystem::path shown_;
    std::filesystem::path target_;
    bool force_;
    MadeFolders made_;
    OutputLock lock_;
    std::filesystem::path staging_;  // empty: none
    std::filesystem::path staged_;   // what it was called
};

class OutputFile {
public:
    OutputFile(const std::filesystem::path& file, bool force);

    std::filesystem::path around() const;  // the folder that it is in
    void write(const std::string& text);
    void write(const TextPieces& text);

private:
    std::filesystem::path shown_;
    std::filesystem::path target_;
    bool force_;
    OutputLock lock_;
    ReplacedFile replaced_;
};

// Says on standard error what could not be drawn. True unless that is a failure of the machine, as
// it is not where gnuplot is not installed.
bool say_figures(const plots::FigureResult& figures);

}  // namespace ukemi::analysis
