// title.hpp — the title of a figure, wrapped where the picture is too narrow for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace ukemi::plots {

class Title {
public:
    // In a picture so many pixels wide; text from outside. An empty one takes no room.
    Title(std::string_view text, double width);

    bool empty() const { return lines_.empty(); }
    double more() const;  // pixels that all lines but the first take, above everything else

    // For the settings of a script, and for its drawing in a picture of this size.
    std::string settings() const;
    std::string label(double width, double height) const;

private:
    std::vector<std::string> lines_;
};

}  // namespace ukemi::plots
