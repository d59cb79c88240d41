// rules.hpp — the style rules that a program can check, as functions from files to findings.
//
// A rule knows nothing about disks: it is given files, so that the test can plant a violation and
// see it found. What clang-format and clang-tidy check is not checked here again, except for what
// must hold where they are not installed.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ukemi::tidy {

struct SourceFile {
    std::string path;  // from the top of the project, with slashes
    std::string text;
};

struct Finding {
    std::string path;
    std::size_t line = 1;
    std::string problem;
};
std::string to_string(const Finding& finding);  // "path:line: problem"

using Findings = std::vector<Finding>;

bool is_code(std::string_view path);    // .hpp, .cpp or .cu
bool is_header(std::string_view path);  // .hpp
// The first folder of a path; empty for a file at the top.
std::string_view top_folder(std::string_view path);
std::vector<std::string_view> lines_of(std::string_view text);

// The code with comments, text and preprocessor lines blanked out: same length, same lines.
std::string code_only(std::string_view text);

// Rules for one file.
Findings check_sizes(const SourceFile& file);       // 100 columns, 600 lines
Findings check_functions(const SourceFile& file);   // 70 lines between the braces
Findings check_headers(const SourceFile& file);     // #pragma once; no JSON library
Findings check_includes(const SourceFile& file);    // only what the layer may see
Findings check_words(const SourceFile& file);       // what must not be called
Findings check_test_names(const SourceFile& file);  // no semicolon
Findings check_skips(const SourceFile& file);       // said so that ctest counts them
Findings check_titles(const SourceFile& file);      // one `# Title` a document
Findings check_paths(const SourceFile& file);       // no folder of one machine
Findings check_prose(const SourceFile& file);       // words that hide who, what or how much

// Rules for the tree.
Findings check_scenarios(std::span<const SourceFile> files);   // each is used somewhere
Findings check_policies(std::span<const SourceFile> files);    // each is in the table
Findings check_types(std::span<const SourceFile> files);       // each has its name alone
Findings check_namespaces(std::span<const SourceFile> files);  // each folder has its own
Findings check_use(std::span<const SourceFile> files);         // the product uses what it offers

// Recorded data in the tree: not more than 2 MB, each folder in its README.
Findings check_data(std::span<const SourceFile> files);

Findings check_all(std::span<const SourceFile> files);

// The project's files: what git tracks or would track; without git, all but build output.
std::vector<SourceFile> project_files(const std::string& top);

}  // namespace ukemi::tidy
