// scratch_folder.hpp — a new empty folder for one test, gone when the test is over.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace ukemi {

class ScratchFolder {
public:
    ScratchFolder() {
        std::string name = (std::filesystem::temp_directory_path() / "ukemi-plots-XXXXXX").string();
        if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~ScratchFolder() {
        std::error_code unused;
        std::filesystem::remove_all(path_, unused);
    }
    ScratchFolder(const ScratchFolder&) = delete;
    ScratchFolder& operator=(const ScratchFolder&) = delete;

    const std::filesystem::path& path() const { return path_; }
    std::string text_of(const std::string& file) const {
        std::ifstream stream(path_ / file, std::ios::binary);
        if (!stream) throw std::runtime_error("cannot open " + file);
        std::ostringstream text;
        text << stream.rdbuf();
        return text.str();
    }

private:
    std::filesystem::path path_;
};

// Whether pictures can be drawn here; tests that need them say that they skip.
inline bool gnuplot_is_here() {
    static const bool here = std::system("gnuplot --version >/dev/null 2>&1") == 0;
    return here;
}

}  // namespace ukemi
