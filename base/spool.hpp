// spool.hpp — texts that grow beside each other, out of the way on the disk.
//
// All are in one file without a name, which goes with the process, however that ends.
#pragma once

#include <cstddef>
#include <filesystem>
#include <mutex>
#include <string_view>
#include <vector>

#include "base/text_pieces.hpp"

namespace ukemi {

class Spool {
public:
    // In a folder that is there. Throws std::system_error when the machine fails.
    explicit Spool(std::filesystem::path folder);
    ~Spool();
    Spool(const Spool&) = delete;
    Spool& operator=(const Spool&) = delete;

private:
    friend class SpooledText;
    std::size_t add(std::string_view text);  // where it begins
    void read(std::size_t begin, std::size_t size, const TextTaker& take) const;
    [[noreturn]] void fail(int error) const;

    std::filesystem::path folder_;
    int descriptor_ = -1;
    std::mutex adding_;
    std::size_t size_ = 0;
};

// One of the texts. Several threads may add to several texts.
class SpooledText {
public:
    explicit SpooledText(Spool& spool) : spool_(&spool) {}
    void add(std::string_view text);  // better seldom and much
    void give(const TextTaker& take) const;

private:
    struct Part {
        std::size_t begin = 0;
        std::size_t size = 0;
    };
    Spool* spool_;
    std::vector<Part> parts_;
};

}  // namespace ukemi
