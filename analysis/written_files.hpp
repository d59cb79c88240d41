// written_files.hpp — manifest.json: which files of a folder a run of ours wrote, and what they
// were.
//
// Replacing a folder deletes nothing that its manifest does not list with the size and the digest
// that it still has: notes beside the results, a file that somebody changed, a link are not ours to
// delete. A folder inside that has a manifest of its own is judged by that one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ukemi::analysis {

inline constexpr std::string_view manifest_name = "manifest.json";

bool has_manifest(const std::filesystem::path& folder);

// Lists all files in the folder, but not those of folders in it that have a manifest of their own.
void write_manifest(const std::filesystem::path& folder);

// The manifest lists this file as well, which is written next.
void announce_file(const std::filesystem::path& folder, const std::filesystem::path& file,
                   std::string_view text);

// A file that no run wrote, or that is no longer what the run wrote.
struct ForeignFile {
    std::filesystem::path file;
    std::string why;
};

// The first in order of names; nothing if all are ours. InputError if a manifest is damaged.
std::optional<ForeignFile> foreign_file(const std::filesystem::path& folder);

// Removes what the manifests list (whatever it holds by now) and the folders that are empty then.
// True if nothing is left.
bool remove_written(const std::filesystem::path& folder);

}  // namespace ukemi::analysis
