//! Live ISOs as lists of extents: file ranges of a cached base image, and small byte strings laid over them. No HTTP.
