#import lib/model.wgsl
@group(0) @binding(0) var<uniform> params: Params;
